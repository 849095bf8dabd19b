"""Data sets (`tf.data`): sources of elements, transformations, iterators, and the operations that create them."""

FAMILIES = ("choices", "iterator_ops", "source_ops", "transform_ops")

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "data_set_forms": """TakeWhileDataset UniqueDataset DirectedInterleaveDataset ExperimentalCSVDataset
        ExperimentalGroupByWindowDataset ExperimentalIgnoreErrorsDataset ExperimentalMapDataset ExperimentalScanDataset
        ExperimentalUnbatchDataset BatchDataset PaddedBatchDataset FixedLengthRecordDatasetV2 MatchingFilesDataset
        ExperimentalMatchingFilesDataset RandomDataset ExperimentalRandomDataset SleepDataset ExperimentalSleepDataset
        SlidingWindowDataset ExperimentalSlidingWindowDataset ShuffleAndRepeatDataset FilterByLastComponentDataset
        SamplingDataset DatasetToSingleElement ReduceDataset ParallelInterleaveDataset""",
}
