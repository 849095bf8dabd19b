"""What a cluster records about itself: clock offsets between tasks, merged times of a step, and transfer counts."""
