"""The networks to time, as plain torch modules: the machine with the GPU needs neither MONAI nor torchvision.

Their parameters come in the order of MONAI's and nnU-Net's own modules; a test holds their results against those.
"""
