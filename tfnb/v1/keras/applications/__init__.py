"""Known networks for images (`tf.keras.applications`), and what their inputs and predictions mean."""
