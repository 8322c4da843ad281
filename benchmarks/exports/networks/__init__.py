"""The list of networks. Importing it imports torch and the libraries."""

from . import image, plain, text, vision

NETWORKS = {network.name: network
            for part in (text, plain, vision, image) for network in part.NETWORKS}
