"""Networks of transformers: text, images, speech and pairs of them, with two layers and small widths."""

import functools

import torch
import transformers

from .network import Network, Sample

VOCABULARY = 128
# Sizes under the names that configurations use.
BERT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
        "vocab_size": VOCABULARY, "max_position_embeddings": 64}
LLAMA = BERT | {"num_key_value_heads": 2, "head_dim": 16}
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": VOCABULARY}
# Of some networks PyTorch's exporter cannot export the fused attention.
EAGER = {"attn_implementation": "eager"}
T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4,
      "vocab_size": VOCABULARY, "decoder_start_token_id": 0} | EAGER
BART = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
        "vocab_size": VOCABULARY, "max_position_embeddings": 64}
IMAGE = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
         "image_size": 64, "patch_size": 16}
SPEECH = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
          "conv_dim": (32, 32, 32), "conv_stride": (5, 4, 4), "conv_kernel": (10, 4, 4),
          "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16,
          "num_conv_pos_embedding_groups": 4, "vocab_size": 32}

# Text: name: (configuration, class of the model, options).
ENCODERS = {
    "bert": ("Bert", "BertForSequenceClassification", BERT),
    "distilbert": ("DistilBert", "DistilBertForMaskedLM",
                   {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128,
                    "vocab_size": VOCABULARY, "max_position_embeddings": 64}),
    "roberta": ("Roberta", "RobertaForTokenClassification", BERT),
    "albert": ("Albert", "AlbertModel", BERT | {"embedding_size": 32}),
    "electra": ("Electra", "ElectraForPreTraining", BERT | {"embedding_size": 32}),
    "deberta_v2": ("DebertaV2", "DebertaV2Model",
                   BERT | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                           "position_buckets": 16, "norm_rel_ebd": "layer_norm",
                           "share_att_key": True}),
    "mobilebert": ("MobileBert", "MobileBertForQuestionAnswering",
                   BERT | {"embedding_size": 32, "intra_bottleneck_size": 32,
                           "true_hidden_size": 32, "num_feedforward_networks": 2}),
    "mpnet": ("MPNet", "MPNetModel", BERT),
    "funnel": ("Funnel", "FunnelModel",
               {"block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 64, "n_head": 4,
                "d_head": 16, "d_inner": 128, "vocab_size": VOCABULARY}),
    "modernbert": ("ModernBert", "ModernBertModel",
                   BERT | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
                           "cls_token_id": 1, "sep_token_id": 2}),
}
DECODERS = {
    "gpt2": ("GPT2", "GPT2LMHeadModel", GPT2),
    "gpt_neo": ("GPTNeo", "GPTNeoForCausalLM",
                {"hidden_size": 64, "num_layers": 2, "num_heads": 4, "intermediate_size": 128,
                 "attention_types": [[["global", "local"], 1]], "window_size": 4,
                 "vocab_size": VOCABULARY, "max_position_embeddings": 64}),
    "gpt_neox": ("GPTNeoX", "GPTNeoXForCausalLM", BERT),
    "opt": ("OPT", "OPTForCausalLM",
            {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 128,
             "word_embed_proj_dim": 64, "vocab_size": VOCABULARY, "max_position_embeddings": 64}),
    "bloom": ("Bloom", "BloomForCausalLM",
              {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY}),
    "llama": ("Llama", "LlamaForCausalLM", LLAMA),
    "mistral": ("Mistral", "MistralForCausalLM", LLAMA | {"sliding_window": 4}),
    "mixtral": ("Mixtral", "MixtralForCausalLM", LLAMA | {"num_local_experts": 4, "experts_implementation": "eager"}),
    "qwen2": ("Qwen2", "Qwen2ForCausalLM", {k: v for k, v in LLAMA.items() if k != "head_dim"}),
    "qwen3": ("Qwen3", "Qwen3ForCausalLM", LLAMA),
    "gemma": ("Gemma", "GemmaForCausalLM", LLAMA),
    "gemma2": ("Gemma2", "Gemma2ForCausalLM", LLAMA | {"sliding_window": 4}),
    "phi": ("Phi", "PhiForCausalLM", BERT),
    "phi3": ("Phi3", "Phi3ForCausalLM", BERT | {"num_key_value_heads": 2, "pad_token_id": 0}),
    "falcon": ("Falcon", "FalconForCausalLM", {k: v for k, v in BERT.items() if k != "intermediate_size"}),
    "olmo2": ("Olmo2", "Olmo2ForCausalLM", BERT | {"num_key_value_heads": 2}),
}
PAIRS = {
    "t5": ("T5", "T5ForConditionalGeneration", T5),
    "bart": ("Bart", "BartForConditionalGeneration", BART),
    "marian": ("Marian", "MarianModel", BART | {"pad_token_id": 0, "decoder_start_token_id": 0}),
}
VISION = {
    "hf_vit": ("ViT", "ViTForImageClassification", IMAGE),
    "hf_deit": ("DeiT", "DeiTForImageClassification", IMAGE),
    "hf_beit": ("Beit", "BeitForImageClassification", IMAGE),
    "dinov2": ("Dinov2", "Dinov2Model", IMAGE),
    "hf_swin": ("Swin", "SwinForImageClassification",
                {"image_size": 64, "patch_size": 4, "embed_dim": 32, "depths": [1, 2],
                 "num_heads": [2, 4], "window_size": 4} | EAGER),
    "segformer": ("Segformer", "SegformerForSemanticSegmentation",
                  {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 48, 64],
                   "num_attention_heads": [1, 2, 4, 4], "decoder_hidden_size": 32}),
}


def wide(options):
    """Weights so wide that what a network says depends on its inputs."""
    return options | {"initializer_range": 0.2}


def make(configuration, model, options):
    config = getattr(transformers, configuration + "Config")(**options)
    config.use_cache = False
    return getattr(transformers, model)(config)


def tokens(batch, steps):
    return torch.randint(5, VOCABULARY, (batch, steps))


def mask(batch, steps):
    """The last sequence is shorter than the others."""
    rows = torch.ones(batch, steps, dtype=torch.int64)
    rows[-1, steps - 2:] = 0
    return rows


SEQUENCE = {0: "batch", 1: "steps"}


def text(configuration, model, options, batch, steps):
    inputs = {"input_ids": tokens(batch, steps), "attention_mask": mask(batch, steps)}
    return Sample(make(configuration, model, wide(options)), inputs,
                  {name: SEQUENCE for name in inputs})


def pair(configuration, model, options, batch, steps):
    inputs = {"input_ids": tokens(batch, steps), "attention_mask": mask(batch, steps),
              "decoder_input_ids": tokens(batch, 4)}
    options = options | ({"initializer_factor": 1.0} if configuration.endswith("T5") else
                         {"init_std": 0.2})
    dynamic = {name: SEQUENCE for name in inputs}
    dynamic["decoder_input_ids"] = {0: "batch"}
    return Sample(make(configuration, model, options), inputs, dynamic)


def vision(configuration, model, options, batch, steps):
    return Sample(make(configuration, model, wide(options)),
                  {"pixel_values": torch.randn(batch, 3, 64, 64)}, {"pixel_values": {0: "batch"}})


def clip(batch, steps):
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 128}
    config = transformers.CLIPConfig(
        text_config=sizes | {"vocab_size": VOCABULARY, "max_position_embeddings": 64,
                             "eos_token_id": 2},
        vision_config=sizes | {"image_size": 64, "patch_size": 16}, projection_dim=32)
    inputs = {"input_ids": tokens(batch, steps), "pixel_values": torch.randn(batch, 3, 64, 64),
              "attention_mask": mask(batch, steps)}
    return Sample(transformers.CLIPModel(config), inputs,
                  {"input_ids": SEQUENCE, "pixel_values": {0: "batch"},
                   "attention_mask": SEQUENCE})


def whisper(batch, steps):
    config = transformers.WhisperConfig(
        d_model=64, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=128,
        decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=128, num_mel_bins=16,
        max_source_positions=32, vocab_size=VOCABULARY, init_std=0.2, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    encoder = transformers.WhisperModel(config).encoder
    return Sample(encoder, {"input_features": torch.randn(batch, 16, 64)},
                  {"input_features": {0: "batch"}})


def speech(configuration, model, options, batch, steps):
    return Sample(make(configuration, model, wide(options)),
                  {"input_values": torch.randn(batch, 640)}, {"input_values": {0: "batch"}})


def spectrogram(batch, steps):
    config = transformers.ASTConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_length=64, num_mel_bins=32, initializer_range=0.2)
    return Sample(transformers.ASTForAudioClassification(config),
                  {"input_values": torch.randn(batch, 64, 32)}, {"input_values": {0: "batch"}})


def networks(kind, models):
    return [Network(name, "transformers", functools.partial(kind, *how))
            for name, how in models.items()]


NETWORKS = [
    *networks(text, ENCODERS), *networks(text, DECODERS), *networks(pair, PAIRS),
    *networks(vision, VISION),
    *networks(speech, {"wav2vec2": ("Wav2Vec2", "Wav2Vec2ForCTC", SPEECH),
                       "hubert": ("Hubert", "HubertModel", SPEECH)}),
    Network("clip", "transformers", clip),
    Network("whisper_encoder", "transformers", whisper),
    Network("ast", "transformers", spectrogram),
]
