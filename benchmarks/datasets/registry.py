"""The registry of data sets."""

from __future__ import annotations

from benchmarks.datasets.dataset import Dataset, graph, text
from softvec.core.errors import InputError, did_you_mean

_NETDATA = "https://websites.umich.edu/~mejn/netdata/"
_LINQS = "https://linqs-data.soe.ucsc.edu/public/"
_GENE2VEC = "https://raw.githubusercontent.com/jingcheng-du/Gene2vec/master/predictionData/"
_WORDSIM = "https://raw.githubusercontent.com/mfaruqui/eval-word-vectors/master/data/word-sim/"
_SOCIO = "http://www.sociopatterns.org/wp-content/uploads/"


_RESEARCH = "free for research"


def _words(name: str, file: str, description: str, checksum: str) -> Dataset:
    page = "https://github.com/mfaruqui/eval-word-vectors"
    return text(name, "words", description, page, _RESEARCH, {f"words/{file}": (checksum, _WORDSIM + file)})


# fmt: off
_ALL = [
    graph("karate", "friendships in a karate club, two factions", _NETDATA, "public", (34, 78, 2),
          "11aabdd9bb5c156c3af9e098d4e7ef9c672d0b37afb5d322d17f54d9f6cc0e9a",
          "8925a5f79185d454765d9b2c464278416531b52ecd0b9b6c68cb08f0fa39dc01",
          archive=_NETDATA + "karate.zip", convert="gml"),
    graph("football", "games between American college teams, conferences",
          _NETDATA, _RESEARCH, (115, 613, 12),
          "d4d5357ddc15b526f11c8b1aca6ac8aa619716a73bd0d529d921522be725e1f5",
          "1dad7af0c885de57e1afcb5fc6baf917d66236ebea6c27e6466609e5383d906e",
          archive=_NETDATA + "football.zip", convert="gml"),
    graph("polbooks", "books on US politics bought together, leanings", _NETDATA, _RESEARCH, (105, 441, 3),
          "fb7e5da39c5984ad8e8711f8b8601acf25cc5b3fcc5ab55466ef3433f910ce27",
          "600ee69d37a0261fe6d82b217b63293b335d1cfb81fc2a7b468971812488d3b5",
          archive=_NETDATA + "polbooks.zip", convert="gml"),
    graph("polblogs", "links between US political blogs, largest component, leanings",
          _NETDATA, _RESEARCH, (1222, 16714, 2),
          "16a57b49b972eee3ae073f5e606f945662a5ac23ff1354c2dc4ee76ad819fe29",
          "140b39932e9610d2fc14c104bf734ad35241535f671fd364e8de79f362f7dbb8",
          archive=_NETDATA + "polblogs.zip", convert="gml"),
    graph("cora", "citations between machine-learning papers, topics",
          "https://linqs.org/datasets/", _RESEARCH, (2708, 5278, 7),
          "3019fedaf7a14618a05f4a3e2cd9524a2696060999b38247cb152b054eeaf62a",
          "1f2fde4fd4b4aca1a4ca053376fb00f5ebeb8fa3e04e8b2a9c0bfd273ca1c83b",
          archive=_LINQS + "lbc/cora.tgz", convert="linqs"),
    graph("citeseer",
          "citations between computer-science papers, topics (the Planetoid copy, 15 nodes without a label)",
          "https://github.com/kimiyoung/planetoid", _RESEARCH, (3327, 4552, 6),
          "eae72be0b5b9d75330c62a81b4fb950519ef7c73e84cc078b89306c18dfd85f6",
          "11daf75c5d2c46075956bb51f1006625a390b450df7459d482e0a9163d91250f"),
    graph("pubmed", "citations between papers on diabetes, topics",
          "https://linqs.org/datasets/", _RESEARCH, (19717, 44324, 3),
          "7faac26da6cef1550e5f66954d9e31aae214aa0a6684a43e9d39e054dcab6e37",
          "014c63d0aa2f326f6d94cbddc611bade24fd00f5153cadd331dee94a9c0854e2",
          archive=_LINQS + "Pubmed-Diabetes.tgz", convert="linqs"),
    graph("ppi", "interactions of human proteins, 50 functions, several per node",
          "https://snap.stanford.edu/node2vec/", _RESEARCH, (3890, 37845, 50),
          "287c73d3f6ed68e08be06b6e54653aaf03733c318e2d27503bafed76c64fa17d",
          "e46014528de6dbe570168506ec04ea581732d7273788fc07a5a0c46ed46c7b92",
          multi=True, archive="https://snap.stanford.edu/node2vec/Homo_sapiens.mat", convert="matlab"),
    graph("wikipedia_pos",
          "words near each other in Wikipedia, unweighted, 40 parts of speech, several per node",
          "https://snap.stanford.edu/node2vec/", _RESEARCH, (4777, 92295, 40),
          "6d9022ff534c36ea4d5c32504e9995f312d35fe8cf11f5af8a6922e3fa0b3441",
          "e5a5dbf27e6f3915aca4b1fa93fa519c25e0ec55d4d9664379878014596475be",
          multi=True, archive="https://snap.stanford.edu/node2vec/POS.mat", convert="matlab"),
    graph("blogcatalog", "friendships of bloggers, 39 interests, several per node",
          "http://leitang.net/social_dimension.html", _RESEARCH, (10312, 333983, 39),
          "c83d3d1696b582c4937fc2fedb7038379a90f55683d64c99ddf72e2fec24cedd",
          "62f3d1823ece8d52e70c7d69a8ad4f33dc17e8f35a3cab13524779b44498cf7c",
          multi=True, archive="http://leitang.net/code/social-dimension/data/blogcatalog.mat",
          convert="matlab"),
    graph("amazon_edrep", "products bought together, a subset; its communities nearly are its 210 components",
          "https://github.com/lorenzodallamico/EDRep", _RESEARCH, (9317, 29757, 232),
          "bceb9c4fea50b890a9b081cab75b9fc854e24e70c1b52010592d13a7162e7a78",
          "cf52032e0d38fec5fba791a94da374a1f377fef4adca861132fac1af31b5e3d2"),
    graph("dblp_prone", "co-authors in computer science, 60 venues",
          "https://github.com/THUDM/ProNE", _RESEARCH, (51264, 127968, 60),
          "142bb43eec6add1b20f5352286bc2fb6284b5351355580af5bdbdfe1f9377479",
          "d32b2a3235e3e6e830d00a9518b653c7c2320daf1a0ec2df04d7a7aabf9f8df9",
          multi=True),
    Dataset(
        "moby",
        "graph",
        "synonyms of the Moby Thesaurus II",
        {
            "graphs/moby.npz": "d721d44d9b364237daef4d649d66c8cc92b033bd2547eb34ed6e3de03cb32871",
            "graphs/moby_words.txt": "e898c9432af0feb43dd25bacd480ec61754f996014a31a2fc8e3c340eac02f66",
        },
        "https://www.gutenberg.org/ebooks/3202",
        "public domain",
        facts={"nodes": 103305, "edges": 1783351},
    ),
    text("genes", "pairs",
         "pairs of co-expressed genes and whether they interact (Gene2Vec), three parts without common genes",
         "https://github.com/jingcheng-du/Gene2vec", "MIT", {
             "genes/train_text.txt": (
                 "5d7808130c0b337c15b927545cbff9552b754610a29c89dfe2a6c54c91299e96",
                 _GENE2VEC + "train_text.txt"),
             "genes/train_label.txt": (
                 "d8f5631b3e4ac8eb60bca80ef5f73a9d521c017d2bafee3a6fc65659789b3434",
                 _GENE2VEC + "train_label.txt"),
             "genes/valid_text.txt": (
                 "aa34b4e3894d5339100b9d255fbc6325f96327f4e2a61f634d11ce2154614c51",
                 _GENE2VEC + "valid_text.txt"),
             "genes/valid_label.txt": (
                 "df038f9ca8937ec0c501058c4a6ec4624bbcc73824c79003058652c844acbb6d",
                 _GENE2VEC + "valid_label.txt"),
             "genes/test_text.txt": (
                 "c03f4b276bb9ddbb60b3e82eba32391578c95b4c353479a369e16066a04d5360",
                 _GENE2VEC + "test_text.txt"),
             "genes/test_label.txt": (
                 "1e9ffeba8c927e3b12565c37ff5bc8fd9300d6500f67152687eeee198c7ccdb1",
                 _GENE2VEC + "test_label.txt"),
         }),
    text("sfhh", "temporal",
         "face-to-face contacts of 403 people at a conference, every 20 seconds",
         "http://www.sociopatterns.org/datasets/sfhh-conference-data-set/", "CC0", {
             "temporal/sfhh.dat": (
                 "26a600014c6c50cd15027cbc7da1b124e511d76f6b88e5f14f15e7fb5e5ed79e",
                 _SOCIO + "2018/12/tij_SFHH.dat_.gz"),
         }),
    text("primaryschool", "temporal",
         "face-to-face contacts of 242 pupils and teachers, every 20 seconds, with their classes",
         "http://www.sociopatterns.org/datasets/primary-school-temporal-network-data/", "CC BY-NC-SA 3.0", {
             "temporal/primaryschool.csv": (
                 "87aea59c5afa2b83cf330d47f237a52f4d80cb3c28547dfc4056d164e71e23e3",
                 _SOCIO + "2015/09/primaryschool.csv.gz"),
         }),
    text("glove6b_50d", "vectors",
         "GloVe vectors of 400,000 words (half precision)",
         "https://nlp.stanford.edu/projects/glove/", "PDDL 1.0", {
             "embeddings/glove6b_50d.npy": (
                 "09f9d13f0c12322873fafdaab9840f404a0b79fb6dc8d6cff503febc8e9b1aa9", ""),
             "embeddings/glove6b_50d_words.txt": (
                 "a702d4ffb48224b6fc4ead4a59128fe0ebc628edb66f4489169b1d57a5b6d744", ""),
         }),
    text("googlenews_w2v_300d", "vectors",
         "word2vec vectors of 26,423 words (half precision, unit norm)",
         "https://code.google.com/archive/p/word2vec/", "Apache 2.0", {
             "embeddings/googlenews_w2v_300d.npy": (
                 "79bcfa4e6e76ea846f1df283ddfcaa7418c037e9a9e6212c6faa37a9e7b7e633", ""),
             "embeddings/googlenews_w2v_300d_words.txt": (
                 "8ce55b3dd55006a8ab0303a78c7d2631598a7933d7a2ac84038603ac5f93a9c7", ""),
         }),
    text("fr_fasttext_300d", "vectors",
         "fastText vectors of 20,000 French words, without the words (half precision)",
         "https://fasttext.cc/docs/en/pretrained-vectors.html", "CC BY-SA 3.0", {
             "embeddings/fr_fasttext_300d.npy": (
                 "a00b34cb39a71c1aaeda05a9941f21297d6a4e294995566d5b0f5011f8b777b7", ""),
         }),
    text("novels", "text",
         "about 6 million words of English novels, a-z only, one book per line",
         "https://www.gutenberg.org/", "public domain", {
             "text/novels.txt.gz": ("16f51bba958e1cf9c7df6455cb1137a644db450956c3c671fcada96dc4233523", ""),
         }),
    _words("men", "EN-MEN-TR-3k.txt", "relatedness of 3,000 word pairs",
           "888b13580faa362c7b11da0a670258cf1b1eb4bf0ecbcd418918729a3bd3f43a"),
    _words("mturk771", "EN-MTurk-771.txt", "relatedness of 771 word pairs",
           "04dc297c9e86b6fa7cf8ef0e4ba2e2c8d3399ec68d92fb7a53c0b4aae27198b5"),
    _words("rg65", "EN-RG-65.txt", "similarity of 65 word pairs",
           "c243f3a91c3f5d8cf67f21a67f6fb80bde8b6bb060851a6a48e6f2d68ec98c9f"),
    _words("simlex999", "EN-SIMLEX-999.txt", "similarity of 999 word pairs",
           "405394ffb7d25f6d0e3c041f87c9f27d29dc6b047506769953e85c4523b11685"),
    _words("ws353_rel", "EN-WS-353-REL.txt", "WordSim-353, the pairs of related words",
           "66a7c88100624d0a391605ff61ce84e11d11ee620d51ec0298da49592838f8fa"),
    _words("ws353_sim", "EN-WS-353-SIM.txt", "WordSim-353, the pairs of similar words",
           "f1da938998863c94e53f72f984a5c6e215f0b46c323aae8f0f4930703a339107"),
]
# fmt: on

REGISTRY: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def info(name: str) -> Dataset:
    """Return the entry of a data set.

    Examples
    --------
    >>> from benchmarks import datasets
    >>> datasets.info("cora").facts["nodes"]
    2708
    """
    if name not in REGISTRY:
        hint = did_you_mean(str(name), REGISTRY, 0.6) or f"; expected one of {', '.join(REGISTRY)}"
        raise InputError(f"unknown data set {name!r}{hint}")
    return REGISTRY[name]
