"""The public names of `tf.keras`, whose modules load when a program uses one of them.

Each line is "place : module : names"; see `lazy_names`. Invariant: `import tfnb` loads none of these modules.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
keras.applications.vgg16 keras.applications : tfnb.v1.keras.applications.plain : VGG16
keras.applications.vgg16 : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.vgg16 : tfnb.v1.keras.applications.imagenet : preprocess_input
keras.applications.vgg19 keras.applications : tfnb.v1.keras.applications.plain : VGG19
keras.applications.vgg19 : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.vgg19 : tfnb.v1.keras.applications.imagenet : preprocess_input
keras.applications.densenet keras.applications : tfnb.v1.keras.applications.plain : DenseNet121 DenseNet169 DenseNet201
keras.applications.densenet : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.densenet : tfnb.v1.keras.applications.imagenet : preprocess_input=standardized
keras.applications.xception keras.applications : tfnb.v1.keras.applications.plain : Xception
keras.applications.xception : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.xception : tfnb.v1.keras.applications.imagenet : preprocess_input=scaled
keras.applications.resnet keras.applications : tfnb.v1.keras.applications.residual : ResNet101 ResNet152 ResNet50
keras.applications.resnet : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.resnet : tfnb.v1.keras.applications.imagenet : preprocess_input
keras.applications.resnet50 : tfnb.v1.keras.applications.residual : ResNet50
keras.applications.resnet50 : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.resnet50 : tfnb.v1.keras.applications.imagenet : preprocess_input
keras.applications.resnet_v2 keras.applications : tfnb.v1.keras.applications.residual : ResNet101V2 ResNet152V2
keras.applications.resnet_v2 keras.applications : tfnb.v1.keras.applications.residual : ResNet50V2
keras.applications.resnet_v2 : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.resnet_v2 : tfnb.v1.keras.applications.imagenet : preprocess_input=scaled
keras.applications.inception_v3 keras.applications : tfnb.v1.keras.applications.inception : InceptionV3
keras.applications.inception_v3 : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.inception_v3 : tfnb.v1.keras.applications.imagenet : preprocess_input=scaled
keras.applications.inception_resnet_v2 keras.applications : tfnb.v1.keras.applications.inception : InceptionResNetV2
keras.applications.inception_resnet_v2 : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.inception_resnet_v2 : tfnb.v1.keras.applications.imagenet : preprocess_input=scaled
keras.applications.mobilenet keras.applications : tfnb.v1.keras.applications.mobile : MobileNet
keras.applications.mobilenet : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.mobilenet : tfnb.v1.keras.applications.imagenet : preprocess_input=scaled
keras.applications.mobilenet_v2 keras.applications : tfnb.v1.keras.applications.mobile : MobileNetV2
keras.applications.mobilenet_v2 : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.mobilenet_v2 : tfnb.v1.keras.applications.imagenet : preprocess_input=scaled
keras.applications.nasnet keras.applications : tfnb.v1.keras.applications.searched : NASNetLarge NASNetMobile
keras.applications.nasnet : tfnb.v1.keras.applications.imagenet : decode_predictions
keras.applications.nasnet : tfnb.v1.keras.applications.imagenet : preprocess_input=scaled
keras.applications.imagenet_utils : tfnb.v1.keras.applications.imagenet : decode_predictions preprocess_input
keras : tfnb.v1.keras.engine.input_layer : Input
keras : tfnb.v1.keras.engine.sequential : Sequential
keras : tfnb.v1.keras.engine.training : Model
keras.activations : tfnb.v1.keras.activations : deserialize elu exponential get hard_sigmoid linear relu selu
keras.activations : tfnb.v1.keras.activations : serialize sigmoid softmax softplus softsign tanh
keras.backend : tfnb.v1.keras.backend.arrays : arange batch_dot batch_flatten cast concatenate dot dtype expand_dims
keras.backend : tfnb.v1.keras.backend.arrays : eye flatten foldl foldr gather int_shape is_sparse map_fn name_scope
keras.backend : tfnb.v1.keras.backend.arrays : ndim one_hot ones ones_like permute_dimensions print_tensor
keras.backend : tfnb.v1.keras.backend.arrays : random_binomial random_normal random_normal_variable random_uniform
keras.backend : tfnb.v1.keras.backend.arrays : random_uniform_variable repeat repeat_elements reshape resize_images
keras.backend : tfnb.v1.keras.backend.arrays : resize_volumes reverse shape spatial_2d_padding spatial_3d_padding
keras.backend : tfnb.v1.keras.backend.arrays : squeeze stack temporal_padding tile to_dense transpose truncated_normal
keras.backend : tfnb.v1.keras.backend.arrays : zeros zeros_like is_keras_tensor
keras.backend : tfnb.v1.keras.backend.elementwise : abs all any argmax argmin clip cos cumprod cumsum equal exp
keras.backend : tfnb.v1.keras.backend.elementwise : gradients greater greater_equal l2_normalize less less_equal log
keras.backend : tfnb.v1.keras.backend.elementwise : max maximum mean min minimum moving_average_update not_equal pow
keras.backend : tfnb.v1.keras.backend.elementwise : prod round sign sin sqrt square std stop_gradient sum var
keras.backend : tfnb.v1.keras.backend.elementwise : logsumexp
keras.backend : tfnb.v1.keras.backend.nn : batch_normalization bias_add binary_crossentropy categorical_crossentropy
keras.backend : tfnb.v1.keras.backend.nn : conv1d conv2d conv2d_transpose conv3d dropout elu hard_sigmoid
keras.backend : tfnb.v1.keras.backend.nn : in_test_phase in_top_k in_train_phase normalize_batch_in_training pool2d
keras.backend : tfnb.v1.keras.backend.nn : pool3d relu separable_conv2d sigmoid softmax softplus softsign
keras.backend : tfnb.v1.keras.backend.nn : sparse_categorical_crossentropy switch tanh depthwise_conv2d
keras.backend : tfnb.v1.keras.backend.recurrent : rnn
keras.backend : tfnb.v1.keras.backend.sequences : ctc_batch_cost ctc_decode ctc_label_dense_to_sparse local_conv1d
keras.backend : tfnb.v1.keras.backend.sequences : local_conv2d
keras.backend : tfnb.v1.keras.backend.settings : backend cast_to_floatx epsilon floatx get_uid image_data_format
keras.backend : tfnb.v1.keras.backend.settings : learning_phase learning_phase_scope reset_uids set_epsilon set_floatx
keras.backend : tfnb.v1.keras.backend.settings : set_image_data_format set_learning_phase
keras.backend : tfnb.v1.keras.backend.values : batch_get_value batch_set_value clear_session constant count_params
keras.backend : tfnb.v1.keras.backend.values : eval function get_session get_value manual_variable_initialization
keras.backend : tfnb.v1.keras.backend.values : placeholder set_session set_value update update_add update_sub variable
keras.callbacks : tfnb.v1.keras.callbacks.base : BaseLogger Callback History ProgbarLogger CallbackList
keras.callbacks : tfnb.v1.keras.callbacks.control : EarlyStopping LambdaCallback LearningRateScheduler
keras.callbacks : tfnb.v1.keras.callbacks.control : ReduceLROnPlateau TerminateOnNaN
keras.callbacks : tfnb.v1.keras.callbacks.files : CSVLogger ModelCheckpoint TensorBoard
keras.callbacks : tfnb.v1.keras.callbacks.remote : RemoteMonitor
keras.estimator : tfnb.v1.keras.estimator : model_to_estimator
keras.experimental : tfnb.v1.keras.engine.loading : export_saved_model load_from_saved_model
keras.experimental : tfnb.v1.keras.premade : LinearModel WideDeepModel
keras.utils : tfnb.v1.keras.labels : convert_all_kernels_in_model
keras.utils : tfnb.v1.keras.model_pictures : model_to_dot plot_model
keras.utils : tfnb.v1.keras.parallel_model : multi_gpu_model
keras.wrappers.scikit_learn : tfnb.v1.keras.scikit_learn : KerasClassifier KerasRegressor
contrib.saved_model : tfnb.v1.keras.engine.loading : load_keras_model=load_from_saved_model
contrib.saved_model : tfnb.v1.keras.engine.loading : save_keras_model=export_saved_model
keras.constraints : tfnb.v1.keras.constraints : Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm
keras.constraints : tfnb.v1.keras.constraints : deserialize get max_norm min_max_norm non_neg radial_constraint
keras.constraints : tfnb.v1.keras.constraints : serialize unit_norm
keras.datasets.boston_housing : tfnb.v1.keras.datasets.image_sets : load_data=boston_housing_data
keras.datasets.cifar10 : tfnb.v1.keras.datasets.image_sets : load_data=cifar10_data
keras.datasets.cifar100 : tfnb.v1.keras.datasets.image_sets : load_data=cifar100_data
keras.datasets.fashion_mnist : tfnb.v1.keras.datasets.image_sets : load_data=fashion_mnist_data
keras.datasets.imdb : tfnb.v1.keras.datasets.text_sets : get_word_index=imdb_words load_data=imdb_data
keras.datasets.mnist : tfnb.v1.keras.datasets.mnist : load_data
keras.datasets.reuters : tfnb.v1.keras.datasets.text_sets : get_word_index=reuters_words load_data=reuters_data
keras.experimental : tfnb.v1.keras.layers.cells : PeepholeLSTMCell
keras.experimental : tfnb.v1.keras.optimizers.schedules : CosineDecay CosineDecayRestarts LinearCosineDecay
keras.experimental : tfnb.v1.keras.optimizers.schedules : NoisyLinearCosineDecay
keras.initializers : tfnb.v1.keras.initializers : Constant Identity Initializer Ones Orthogonal RandomNormal
keras.initializers : tfnb.v1.keras.initializers : RandomUniform TruncatedNormal VarianceScaling Zeros constant
keras.initializers : tfnb.v1.keras.initializers : deserialize get glorot_normal glorot_uniform he_normal he_uniform
keras.initializers : tfnb.v1.keras.initializers : identity lecun_normal lecun_uniform normal ones orthogonal
keras.initializers : tfnb.v1.keras.initializers : random_normal random_uniform serialize truncated_normal uniform
keras.initializers : tfnb.v1.keras.initializers : zeros
keras.layers : tfnb.v1.keras.engine.base_layer : Layer
keras.layers : tfnb.v1.keras.engine.calls : InputSpec
keras.layers : tfnb.v1.keras.engine.input_layer : Input InputLayer
keras.layers : tfnb.v1.keras.layer_registry : deserialize serialize
keras.layers : tfnb.v1.keras.layers.activations : AlphaDropout ELU Embedding GaussianDropout GaussianNoise LeakyReLU
keras.layers : tfnb.v1.keras.layers.activations : PReLU ReLU Softmax ThresholdedReLU
keras.layers : tfnb.v1.keras.layers.cells : AbstractRNNCell GRUCell LSTMCell SimpleRNNCell StackedRNNCells
keras.layers : tfnb.v1.keras.layers.convolution : Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose
keras.layers : tfnb.v1.keras.layers.convolution : Convolution1D=Conv1D Convolution2D=Conv2D
keras.layers : tfnb.v1.keras.layers.convolution : Convolution2DTranspose=Conv2DTranspose Convolution3D=Conv3D
keras.layers : tfnb.v1.keras.layers.convolution : Convolution3DTranspose=Conv3DTranspose DepthwiseConv2D
keras.layers : tfnb.v1.keras.layers.convolution : SeparableConv1D SeparableConv2D
keras.layers : tfnb.v1.keras.layers.convolution : SeparableConvolution1D=SeparableConv1D
keras.layers : tfnb.v1.keras.layers.convolution : SeparableConvolution2D=SeparableConv2D
keras.layers : tfnb.v1.keras.layers.core : Activation ActivityRegularization Dense Dropout Flatten Lambda Masking
keras.layers : tfnb.v1.keras.layers.core : Permute RepeatVector Reshape SpatialDropout1D SpatialDropout2D
keras.layers : tfnb.v1.keras.layers.core : SpatialDropout3D
keras.layers : tfnb.v1.keras.layers.features : DenseFeatures
keras.experimental : tfnb.v1.keras.layers.features : SequenceFeatures
keras.layers : tfnb.v1.keras.layers.local : LocallyConnected1D LocallyConnected2D
keras.layers : tfnb.v1.keras.layers.recurrent_convolution : ConvLSTM2D
keras.layers : tfnb.v1.keras.layers.merge : Add AdditiveAttention Attention Average Concatenate Dot Maximum Minimum
keras.layers : tfnb.v1.keras.layers.merge : Multiply Subtract add average concatenate dot maximum minimum multiply
keras.layers : tfnb.v1.keras.layers.merge : subtract
keras.layers : tfnb.v1.keras.layers.normalization : BatchNormalization LayerNormalization
keras.layers : tfnb.v1.keras.layers.normalization : BatchNormalizationV1=BatchNormalization
keras.layers : tfnb.v1.keras.layers.pooling : AveragePooling1D AveragePooling2D AveragePooling3D
keras.layers : tfnb.v1.keras.layers.pooling : AvgPool1D=AveragePooling1D AvgPool2D=AveragePooling2D
keras.layers : tfnb.v1.keras.layers.pooling : AvgPool3D=AveragePooling3D Cropping1D Cropping2D Cropping3D
keras.layers : tfnb.v1.keras.layers.pooling : GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
keras.layers : tfnb.v1.keras.layers.pooling : GlobalAvgPool1D=GlobalAveragePooling1D
keras.layers : tfnb.v1.keras.layers.pooling : GlobalAvgPool2D=GlobalAveragePooling2D
keras.layers : tfnb.v1.keras.layers.pooling : GlobalAvgPool3D=GlobalAveragePooling3D
keras.layers : tfnb.v1.keras.layers.pooling : GlobalMaxPool1D=GlobalMaxPooling1D GlobalMaxPool2D=GlobalMaxPooling2D
keras.layers : tfnb.v1.keras.layers.pooling : GlobalMaxPool3D=GlobalMaxPooling3D GlobalMaxPooling1D GlobalMaxPooling2D
keras.layers : tfnb.v1.keras.layers.pooling : GlobalMaxPooling3D MaxPool1D=MaxPooling1D MaxPool2D=MaxPooling2D
keras.layers : tfnb.v1.keras.layers.pooling : MaxPool3D=MaxPooling3D MaxPooling1D MaxPooling2D MaxPooling3D
keras.layers : tfnb.v1.keras.layers.pooling : UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D
keras.layers : tfnb.v1.keras.layers.pooling : ZeroPadding3D
keras.layers : tfnb.v1.keras.layers.recurrent : CuDNNGRU CuDNNLSTM GRU LSTM RNN SimpleRNN
keras.layers : tfnb.v1.keras.layers.wrappers : Bidirectional TimeDistributed Wrapper
keras.losses : tfnb.v1.keras.losses : BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity
keras.losses : tfnb.v1.keras.losses : Hinge Huber KLD KLDivergence LogCosh Loss MAE MAPE MSE MSLE MeanAbsoluteError
keras.losses : tfnb.v1.keras.losses : MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson
keras.losses : tfnb.v1.keras.losses : SparseCategoricalCrossentropy SquaredHinge binary_crossentropy
keras.losses : tfnb.v1.keras.losses : categorical_crossentropy categorical_hinge cosine cosine_proximity
keras.losses : tfnb.v1.keras.losses : cosine_similarity deserialize get hinge kld kullback_leibler_divergence logcosh
keras.losses : tfnb.v1.keras.losses : mae mape mean_absolute_error mean_absolute_percentage_error mean_squared_error
keras.losses : tfnb.v1.keras.losses : mean_squared_logarithmic_error mse msle poisson serialize
keras.losses : tfnb.v1.keras.losses : sparse_categorical_crossentropy squared_hinge Reduction huber_loss BCE bce
keras.metrics : tfnb.v1.keras.metrics.base : Mean MeanTensor Metric Sum MeanMetricWrapper
keras.metrics : tfnb.v1.keras.metrics.confusion : AUC FalseNegatives FalsePositives Precision Recall
keras.metrics : tfnb.v1.keras.metrics.confusion : SensitivityAtSpecificity SpecificityAtSensitivity TrueNegatives
keras.metrics : tfnb.v1.keras.metrics.confusion : TruePositives
keras.metrics : tfnb.v1.keras.metrics.functions : KLD MAE MAPE MSE MSLE binary_accuracy binary_crossentropy
keras.metrics : tfnb.v1.keras.metrics.functions : categorical_accuracy categorical_crossentropy cosine
keras.metrics : tfnb.v1.keras.metrics.functions : cosine_proximity hinge kld kullback_leibler_divergence mae mape
keras.metrics : tfnb.v1.keras.metrics.functions : mean_absolute_error mean_absolute_percentage_error
keras.metrics : tfnb.v1.keras.metrics.functions : mean_squared_error mean_squared_logarithmic_error mse msle poisson
keras.metrics : tfnb.v1.keras.metrics.functions : sparse_categorical_accuracy sparse_categorical_crossentropy
keras.metrics : tfnb.v1.keras.metrics.functions : sparse_top_k_categorical_accuracy squared_hinge
keras.metrics : tfnb.v1.keras.metrics.functions : top_k_categorical_accuracy
keras.metrics : tfnb.v1.keras.metrics.lookup : deserialize get serialize
keras.metrics : tfnb.v1.keras.metrics.means : Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy
keras.metrics : tfnb.v1.keras.metrics.means : CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge
keras.metrics : tfnb.v1.keras.metrics.means : KLDivergence LogCoshError MeanAbsoluteError MeanAbsolutePercentageError
keras.metrics : tfnb.v1.keras.metrics.means : MeanIoU MeanRelativeError MeanSquaredError MeanSquaredLogarithmicError
keras.metrics : tfnb.v1.keras.metrics.means : Poisson RootMeanSquaredError SparseCategoricalAccuracy
keras.metrics : tfnb.v1.keras.metrics.means : SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SquaredHinge
keras.metrics : tfnb.v1.keras.metrics.means : TopKCategoricalAccuracy
keras.models : tfnb.v1.keras.engine.loading : clone_model load_model model_from_config model_from_json model_from_yaml
keras.models : tfnb.v1.keras.engine.loading : save_model
keras.models : tfnb.v1.keras.engine.sequential : Sequential
keras.models : tfnb.v1.keras.engine.training : Model
python.keras.engine.network : tfnb.v1.keras.engine.network : Network
python.keras.backend : tfnb.ir.default : get_graph=get_default_graph
keras.optimizers : tfnb.v1.keras.optimizers.base : Optimizer
keras.optimizers : tfnb.v1.keras.optimizers.lookup : deserialize get serialize
keras.optimizers : tfnb.v1.keras.optimizers.rules : Adadelta Adagrad Adam Adamax Ftrl Nadam RMSprop SGD
keras.optimizers.schedules : tfnb.v1.keras.optimizers.schedules : ExponentialDecay InverseTimeDecay
keras.optimizers.schedules : tfnb.v1.keras.optimizers.schedules : LearningRateSchedule PiecewiseConstantDecay
keras.optimizers.schedules : tfnb.v1.keras.optimizers.schedules : PolynomialDecay deserialize serialize
keras.preprocessing.image : tfnb.v1.keras.preprocessing.images : apply_affine_transform apply_brightness_shift
keras.preprocessing.image : tfnb.v1.keras.preprocessing.images : apply_channel_shift array_to_img img_to_array load_img
keras.preprocessing.image : tfnb.v1.keras.preprocessing.images : random_brightness random_channel_shift random_rotation
keras.preprocessing.image : tfnb.v1.keras.preprocessing.images : random_shear random_shift random_zoom save_img
keras.preprocessing.image : tfnb.v1.keras.preprocessing.image_batches : DirectoryIterator Iterator NumpyArrayIterator
keras.preprocessing.image : tfnb.v1.keras.preprocessing.image_generator : ImageDataGenerator
keras.preprocessing.sequence : tfnb.v1.keras.preprocessing.sequence : TimeseriesGenerator make_sampling_table
keras.preprocessing.sequence : tfnb.v1.keras.preprocessing.sequence : pad_sequences skipgrams
keras.preprocessing.text : tfnb.v1.keras.preprocessing.text : Tokenizer hashing_trick one_hot text_to_word_sequence
keras.regularizers : tfnb.v1.keras.regularizers : L1L2 Regularizer deserialize get l1 l1_l2 l2 serialize
keras.utils : tfnb.v1.keras.data_sequences : GeneratorEnqueuer OrderedEnqueuer Sequence SequenceEnqueuer
keras.utils : tfnb.v1.keras.downloads : get_file
keras.utils : tfnb.v1.keras.hdf5 : HDF5Matrix
keras.utils : tfnb.v1.keras.labels : get_source_inputs normalize to_categorical
keras.utils : tfnb.v1.keras.progress : Progbar
keras.utils : tfnb.v1.keras.serialization : CustomObjectScope custom_object_scope deserialize_keras_object
keras.utils : tfnb.v1.keras.serialization : get_custom_objects serialize_keras_object
"""
API: dict[str, Any] = {**lazy_names(_TABLE), "keras.__version__": "2.2.4-tf"}
