"""`tf.keras.optimizers`: update rules, and schedules of learning rates."""
