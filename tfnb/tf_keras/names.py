"""The public names of `tf.keras`, whose modules load when a program uses one of them.

Each line is "place : module : names"; see `lazy_names`. Invariant: `import tfnb` loads none of these modules.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
keras.applications.vgg16 keras.applications : tfnb.tf_keras.applications.plain : VGG16
keras.applications.vgg16 : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.vgg16 : tfnb.tf_keras.applications.imagenet : preprocess_input
keras.applications.vgg19 keras.applications : tfnb.tf_keras.applications.plain : VGG19
keras.applications.vgg19 : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.vgg19 : tfnb.tf_keras.applications.imagenet : preprocess_input
keras.applications.densenet keras.applications : tfnb.tf_keras.applications.plain : DenseNet121 DenseNet169 DenseNet201
keras.applications.densenet : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.densenet : tfnb.tf_keras.applications.imagenet : preprocess_input=standardized
keras.applications.xception keras.applications : tfnb.tf_keras.applications.plain : Xception
keras.applications.xception : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.xception : tfnb.tf_keras.applications.imagenet : preprocess_input=scaled
keras.applications.resnet keras.applications : tfnb.tf_keras.applications.residual : ResNet101 ResNet152 ResNet50
keras.applications.resnet : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.resnet : tfnb.tf_keras.applications.imagenet : preprocess_input
keras.applications.resnet50 : tfnb.tf_keras.applications.residual : ResNet50
keras.applications.resnet50 : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.resnet50 : tfnb.tf_keras.applications.imagenet : preprocess_input
keras.applications.resnet_v2 keras.applications : tfnb.tf_keras.applications.residual : ResNet101V2 ResNet152V2
keras.applications.resnet_v2 keras.applications : tfnb.tf_keras.applications.residual : ResNet50V2
keras.applications.resnet_v2 : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.resnet_v2 : tfnb.tf_keras.applications.imagenet : preprocess_input=scaled
keras.applications.inception_v3 keras.applications : tfnb.tf_keras.applications.inception : InceptionV3
keras.applications.inception_v3 : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.inception_v3 : tfnb.tf_keras.applications.imagenet : preprocess_input=scaled
keras.applications.inception_resnet_v2 keras.applications : tfnb.tf_keras.applications.inception : InceptionResNetV2
keras.applications.inception_resnet_v2 : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.inception_resnet_v2 : tfnb.tf_keras.applications.imagenet : preprocess_input=scaled
keras.applications.mobilenet keras.applications : tfnb.tf_keras.applications.mobile : MobileNet
keras.applications.mobilenet : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.mobilenet : tfnb.tf_keras.applications.imagenet : preprocess_input=scaled
keras.applications.mobilenet_v2 keras.applications : tfnb.tf_keras.applications.mobile : MobileNetV2
keras.applications.mobilenet_v2 : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.mobilenet_v2 : tfnb.tf_keras.applications.imagenet : preprocess_input=scaled
keras.applications.nasnet keras.applications : tfnb.tf_keras.applications.searched : NASNetLarge NASNetMobile
keras.applications.nasnet : tfnb.tf_keras.applications.imagenet : decode_predictions
keras.applications.nasnet : tfnb.tf_keras.applications.imagenet : preprocess_input=scaled
keras.applications.imagenet_utils : tfnb.tf_keras.applications.imagenet : decode_predictions preprocess_input
keras : tfnb.tf_keras.engine.input_layer : Input
keras : tfnb.tf_keras.engine.sequential : Sequential
keras : tfnb.tf_keras.engine.training : Model
keras.activations : tfnb.tf_keras.activations : deserialize elu exponential get hard_sigmoid linear relu selu
keras.activations : tfnb.tf_keras.activations : serialize sigmoid softmax softplus softsign tanh
keras.backend : tfnb.tf_keras.backend.arrays : arange batch_dot batch_flatten cast concatenate dot dtype expand_dims
keras.backend : tfnb.tf_keras.backend.arrays : eye flatten foldl foldr gather int_shape is_sparse map_fn name_scope
keras.backend : tfnb.tf_keras.backend.arrays : ndim one_hot ones ones_like permute_dimensions print_tensor
keras.backend : tfnb.tf_keras.backend.arrays : random_binomial random_normal random_normal_variable random_uniform
keras.backend : tfnb.tf_keras.backend.arrays : random_uniform_variable repeat repeat_elements reshape resize_images
keras.backend : tfnb.tf_keras.backend.arrays : resize_volumes reverse shape spatial_2d_padding spatial_3d_padding
keras.backend : tfnb.tf_keras.backend.arrays : squeeze stack temporal_padding tile to_dense transpose truncated_normal
keras.backend : tfnb.tf_keras.backend.arrays : zeros zeros_like is_keras_tensor
keras.backend : tfnb.tf_keras.backend.elementwise : abs all any argmax argmin clip cos cumprod cumsum equal exp
keras.backend : tfnb.tf_keras.backend.elementwise : gradients greater greater_equal l2_normalize less less_equal log
keras.backend : tfnb.tf_keras.backend.elementwise : max maximum mean min minimum moving_average_update not_equal pow
keras.backend : tfnb.tf_keras.backend.elementwise : prod round sign sin sqrt square std stop_gradient sum var
keras.backend : tfnb.tf_keras.backend.elementwise : logsumexp
keras.backend : tfnb.tf_keras.backend.nn : batch_normalization bias_add binary_crossentropy categorical_crossentropy
keras.backend : tfnb.tf_keras.backend.nn : conv1d conv2d conv2d_transpose conv3d dropout elu hard_sigmoid
keras.backend : tfnb.tf_keras.backend.nn : in_test_phase in_top_k in_train_phase normalize_batch_in_training pool2d
keras.backend : tfnb.tf_keras.backend.nn : pool3d relu separable_conv2d sigmoid softmax softplus softsign
keras.backend : tfnb.tf_keras.backend.nn : sparse_categorical_crossentropy switch tanh depthwise_conv2d
keras.backend : tfnb.tf_keras.backend.recurrent : rnn
keras.backend : tfnb.tf_keras.backend.sequences : ctc_batch_cost ctc_decode ctc_label_dense_to_sparse local_conv1d
keras.backend : tfnb.tf_keras.backend.sequences : local_conv2d
keras.backend : tfnb.tf_keras.backend.settings : backend cast_to_floatx epsilon floatx get_uid image_data_format
keras.backend : tfnb.tf_keras.backend.settings : learning_phase learning_phase_scope reset_uids set_epsilon set_floatx
keras.backend : tfnb.tf_keras.backend.settings : set_image_data_format set_learning_phase
keras.backend : tfnb.tf_keras.backend.values : batch_get_value batch_set_value clear_session constant count_params
keras.backend : tfnb.tf_keras.backend.values : eval function get_session get_value manual_variable_initialization
keras.backend : tfnb.tf_keras.backend.values : placeholder set_session set_value update update_add update_sub variable
keras.callbacks : tfnb.tf_keras.callbacks.base : BaseLogger Callback History ProgbarLogger CallbackList
keras.callbacks : tfnb.tf_keras.callbacks.control : EarlyStopping LambdaCallback LearningRateScheduler
keras.callbacks : tfnb.tf_keras.callbacks.control : ReduceLROnPlateau TerminateOnNaN
keras.callbacks : tfnb.tf_keras.callbacks.files : CSVLogger ModelCheckpoint TensorBoard
keras.callbacks : tfnb.tf_keras.callbacks.remote : RemoteMonitor
keras.estimator : tfnb.tf_keras.estimator : model_to_estimator
keras.experimental : tfnb.tf_keras.engine.loading : export_saved_model load_from_saved_model
keras.experimental : tfnb.tf_keras.premade : LinearModel WideDeepModel
keras.utils : tfnb.tf_keras.labels : convert_all_kernels_in_model
keras.utils : tfnb.tf_keras.model_pictures : model_to_dot plot_model
keras.utils : tfnb.tf_keras.parallel_model : multi_gpu_model
keras.wrappers.scikit_learn : tfnb.tf_keras.scikit_learn : KerasClassifier KerasRegressor
contrib.saved_model : tfnb.tf_keras.engine.loading : load_keras_model=load_from_saved_model
contrib.saved_model : tfnb.tf_keras.engine.loading : save_keras_model=export_saved_model
keras.constraints : tfnb.tf_keras.constraints : Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm
keras.constraints : tfnb.tf_keras.constraints : deserialize get max_norm min_max_norm non_neg radial_constraint
keras.constraints : tfnb.tf_keras.constraints : serialize unit_norm
keras.datasets.boston_housing : tfnb.tf_keras.datasets.image_sets : load_data=boston_housing_data
keras.datasets.cifar10 : tfnb.tf_keras.datasets.image_sets : load_data=cifar10_data
keras.datasets.cifar100 : tfnb.tf_keras.datasets.image_sets : load_data=cifar100_data
keras.datasets.fashion_mnist : tfnb.tf_keras.datasets.image_sets : load_data=fashion_mnist_data
keras.datasets.imdb : tfnb.tf_keras.datasets.text_sets : get_word_index=imdb_words load_data=imdb_data
keras.datasets.mnist : tfnb.tf_keras.datasets.mnist : load_data
keras.datasets.reuters : tfnb.tf_keras.datasets.text_sets : get_word_index=reuters_words load_data=reuters_data
keras.experimental : tfnb.tf_keras.layers.cells : PeepholeLSTMCell
keras.experimental : tfnb.tf_keras.optimizers.schedules : CosineDecay CosineDecayRestarts LinearCosineDecay
keras.experimental : tfnb.tf_keras.optimizers.schedules : NoisyLinearCosineDecay
keras.initializers : tfnb.tf_keras.initializers : Constant Identity Initializer Ones Orthogonal RandomNormal
keras.initializers : tfnb.tf_keras.initializers : RandomUniform TruncatedNormal VarianceScaling Zeros constant
keras.initializers : tfnb.tf_keras.initializers : deserialize get glorot_normal glorot_uniform he_normal he_uniform
keras.initializers : tfnb.tf_keras.initializers : identity lecun_normal lecun_uniform normal ones orthogonal
keras.initializers : tfnb.tf_keras.initializers : random_normal random_uniform serialize truncated_normal uniform
keras.initializers : tfnb.tf_keras.initializers : zeros
keras.layers : tfnb.tf_keras.engine.base_layer : Layer
keras.layers : tfnb.tf_keras.engine.calls : InputSpec
keras.layers : tfnb.tf_keras.engine.input_layer : Input InputLayer
keras.layers : tfnb.tf_keras.layer_registry : deserialize serialize
keras.layers : tfnb.tf_keras.layers.activations : AlphaDropout ELU Embedding GaussianDropout GaussianNoise LeakyReLU
keras.layers : tfnb.tf_keras.layers.activations : PReLU ReLU Softmax ThresholdedReLU
keras.layers : tfnb.tf_keras.layers.cells : AbstractRNNCell GRUCell LSTMCell SimpleRNNCell StackedRNNCells
keras.layers : tfnb.tf_keras.layers.convolution : Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose
keras.layers : tfnb.tf_keras.layers.convolution : Convolution1D=Conv1D Convolution2D=Conv2D
keras.layers : tfnb.tf_keras.layers.convolution : Convolution2DTranspose=Conv2DTranspose Convolution3D=Conv3D
keras.layers : tfnb.tf_keras.layers.convolution : Convolution3DTranspose=Conv3DTranspose DepthwiseConv2D
keras.layers : tfnb.tf_keras.layers.convolution : SeparableConv1D SeparableConv2D
keras.layers : tfnb.tf_keras.layers.convolution : SeparableConvolution1D=SeparableConv1D
keras.layers : tfnb.tf_keras.layers.convolution : SeparableConvolution2D=SeparableConv2D
keras.layers : tfnb.tf_keras.layers.core : Activation ActivityRegularization Dense Dropout Flatten Lambda Masking
keras.layers : tfnb.tf_keras.layers.core : Permute RepeatVector Reshape SpatialDropout1D SpatialDropout2D
keras.layers : tfnb.tf_keras.layers.core : SpatialDropout3D
keras.layers : tfnb.tf_keras.layers.features : DenseFeatures
keras.experimental : tfnb.tf_keras.layers.features : SequenceFeatures
keras.layers : tfnb.tf_keras.layers.local : LocallyConnected1D LocallyConnected2D
keras.layers : tfnb.tf_keras.layers.recurrent_convolution : ConvLSTM2D
keras.layers : tfnb.tf_keras.layers.merge : Add AdditiveAttention Attention Average Concatenate Dot Maximum Minimum
keras.layers : tfnb.tf_keras.layers.merge : Multiply Subtract add average concatenate dot maximum minimum multiply
keras.layers : tfnb.tf_keras.layers.merge : subtract
keras.layers : tfnb.tf_keras.layers.normalization : BatchNormalization LayerNormalization
keras.layers : tfnb.tf_keras.layers.normalization : BatchNormalizationV1=BatchNormalization
keras.layers : tfnb.tf_keras.layers.pooling : AveragePooling1D AveragePooling2D AveragePooling3D
keras.layers : tfnb.tf_keras.layers.pooling : AvgPool1D=AveragePooling1D AvgPool2D=AveragePooling2D
keras.layers : tfnb.tf_keras.layers.pooling : AvgPool3D=AveragePooling3D Cropping1D Cropping2D Cropping3D
keras.layers : tfnb.tf_keras.layers.pooling : GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
keras.layers : tfnb.tf_keras.layers.pooling : GlobalAvgPool1D=GlobalAveragePooling1D
keras.layers : tfnb.tf_keras.layers.pooling : GlobalAvgPool2D=GlobalAveragePooling2D
keras.layers : tfnb.tf_keras.layers.pooling : GlobalAvgPool3D=GlobalAveragePooling3D
keras.layers : tfnb.tf_keras.layers.pooling : GlobalMaxPool1D=GlobalMaxPooling1D GlobalMaxPool2D=GlobalMaxPooling2D
keras.layers : tfnb.tf_keras.layers.pooling : GlobalMaxPool3D=GlobalMaxPooling3D GlobalMaxPooling1D GlobalMaxPooling2D
keras.layers : tfnb.tf_keras.layers.pooling : GlobalMaxPooling3D MaxPool1D=MaxPooling1D MaxPool2D=MaxPooling2D
keras.layers : tfnb.tf_keras.layers.pooling : MaxPool3D=MaxPooling3D MaxPooling1D MaxPooling2D MaxPooling3D
keras.layers : tfnb.tf_keras.layers.pooling : UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D
keras.layers : tfnb.tf_keras.layers.pooling : ZeroPadding3D
keras.layers : tfnb.tf_keras.layers.recurrent : CuDNNGRU CuDNNLSTM GRU LSTM RNN SimpleRNN
keras.layers : tfnb.tf_keras.layers.wrappers : Bidirectional TimeDistributed Wrapper
keras.losses : tfnb.tf_keras.losses : BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity
keras.losses : tfnb.tf_keras.losses : Hinge Huber KLD KLDivergence LogCosh Loss MAE MAPE MSE MSLE MeanAbsoluteError
keras.losses : tfnb.tf_keras.losses : MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson
keras.losses : tfnb.tf_keras.losses : SparseCategoricalCrossentropy SquaredHinge binary_crossentropy
keras.losses : tfnb.tf_keras.losses : categorical_crossentropy categorical_hinge cosine cosine_proximity
keras.losses : tfnb.tf_keras.losses : cosine_similarity deserialize get hinge kld kullback_leibler_divergence logcosh
keras.losses : tfnb.tf_keras.losses : mae mape mean_absolute_error mean_absolute_percentage_error mean_squared_error
keras.losses : tfnb.tf_keras.losses : mean_squared_logarithmic_error mse msle poisson serialize
keras.losses : tfnb.tf_keras.losses : sparse_categorical_crossentropy squared_hinge Reduction huber_loss BCE bce
keras.metrics : tfnb.tf_keras.metrics.base : Mean MeanTensor Metric Sum MeanMetricWrapper
keras.metrics : tfnb.tf_keras.metrics.confusion : AUC FalseNegatives FalsePositives Precision Recall
keras.metrics : tfnb.tf_keras.metrics.confusion : SensitivityAtSpecificity SpecificityAtSensitivity TrueNegatives
keras.metrics : tfnb.tf_keras.metrics.confusion : TruePositives
keras.metrics : tfnb.tf_keras.metrics.functions : KLD MAE MAPE MSE MSLE binary_accuracy binary_crossentropy
keras.metrics : tfnb.tf_keras.metrics.functions : categorical_accuracy categorical_crossentropy cosine
keras.metrics : tfnb.tf_keras.metrics.functions : cosine_proximity hinge kld kullback_leibler_divergence mae mape
keras.metrics : tfnb.tf_keras.metrics.functions : mean_absolute_error mean_absolute_percentage_error
keras.metrics : tfnb.tf_keras.metrics.functions : mean_squared_error mean_squared_logarithmic_error mse msle poisson
keras.metrics : tfnb.tf_keras.metrics.functions : sparse_categorical_accuracy sparse_categorical_crossentropy
keras.metrics : tfnb.tf_keras.metrics.functions : sparse_top_k_categorical_accuracy squared_hinge
keras.metrics : tfnb.tf_keras.metrics.functions : top_k_categorical_accuracy
keras.metrics : tfnb.tf_keras.metrics.lookup : deserialize get serialize
keras.metrics : tfnb.tf_keras.metrics.means : Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy
keras.metrics : tfnb.tf_keras.metrics.means : CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge
keras.metrics : tfnb.tf_keras.metrics.means : KLDivergence LogCoshError MeanAbsoluteError MeanAbsolutePercentageError
keras.metrics : tfnb.tf_keras.metrics.means : MeanIoU MeanRelativeError MeanSquaredError MeanSquaredLogarithmicError
keras.metrics : tfnb.tf_keras.metrics.means : Poisson RootMeanSquaredError SparseCategoricalAccuracy
keras.metrics : tfnb.tf_keras.metrics.means : SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SquaredHinge
keras.metrics : tfnb.tf_keras.metrics.means : TopKCategoricalAccuracy
keras.models : tfnb.tf_keras.engine.loading : clone_model load_model model_from_config model_from_json model_from_yaml
keras.models : tfnb.tf_keras.engine.loading : save_model
keras.models : tfnb.tf_keras.engine.sequential : Sequential
keras.models : tfnb.tf_keras.engine.training : Model
keras.optimizers : tfnb.tf_keras.optimizers.base : Optimizer
keras.optimizers : tfnb.tf_keras.optimizers.lookup : deserialize get serialize
keras.optimizers : tfnb.tf_keras.optimizers.rules : Adadelta Adagrad Adam Adamax Ftrl Nadam RMSprop SGD
keras.optimizers.schedules : tfnb.tf_keras.optimizers.schedules : ExponentialDecay InverseTimeDecay
keras.optimizers.schedules : tfnb.tf_keras.optimizers.schedules : LearningRateSchedule PiecewiseConstantDecay
keras.optimizers.schedules : tfnb.tf_keras.optimizers.schedules : PolynomialDecay deserialize serialize
keras.preprocessing.image : tfnb.tf_keras.preprocessing.images : apply_affine_transform apply_brightness_shift
keras.preprocessing.image : tfnb.tf_keras.preprocessing.images : apply_channel_shift array_to_img img_to_array load_img
keras.preprocessing.image : tfnb.tf_keras.preprocessing.images : random_brightness random_channel_shift random_rotation
keras.preprocessing.image : tfnb.tf_keras.preprocessing.images : random_shear random_shift random_zoom save_img
keras.preprocessing.image : tfnb.tf_keras.preprocessing.image_batches : DirectoryIterator Iterator NumpyArrayIterator
keras.preprocessing.image : tfnb.tf_keras.preprocessing.image_generator : ImageDataGenerator
keras.preprocessing.sequence : tfnb.tf_keras.preprocessing.sequence : TimeseriesGenerator make_sampling_table
keras.preprocessing.sequence : tfnb.tf_keras.preprocessing.sequence : pad_sequences skipgrams
keras.preprocessing.text : tfnb.tf_keras.preprocessing.text : Tokenizer hashing_trick one_hot text_to_word_sequence
keras.regularizers : tfnb.tf_keras.regularizers : L1L2 Regularizer deserialize get l1 l1_l2 l2 serialize
keras.utils : tfnb.tf_keras.data_sequences : GeneratorEnqueuer OrderedEnqueuer Sequence SequenceEnqueuer
keras.utils : tfnb.tf_keras.downloads : get_file
keras.utils : tfnb.tf_keras.hdf5 : HDF5Matrix
keras.utils : tfnb.tf_keras.labels : get_source_inputs normalize to_categorical
keras.utils : tfnb.tf_keras.progress : Progbar
keras.utils : tfnb.tf_keras.serialization : CustomObjectScope custom_object_scope deserialize_keras_object
keras.utils : tfnb.tf_keras.serialization : get_custom_objects serialize_keras_object
"""
API: dict[str, Any] = {**lazy_names(_TABLE), "keras.__version__": "2.2.4-tf"}
