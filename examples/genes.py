"""
Genes that work together
========================

Embed pairs of genes from five textbook pathways: genes of one pathway get similar vectors, and the
neighbours of a gene without a known role suggest one.
"""

# %%
# Each line is a pathway and its pairs. Some genes, such as TP53 and CCND1, belong to two.

import softvec

PATHWAYS = {
    "DNA damage": "ATM-TP53 ATR-CHEK1 ATM-CHEK2 CHEK2-TP53 CHEK1-TP53 TP53-MDM2 MDM2-MDM4 TP53-MDM4 ATM-BRCA1 BRCA1-BARD1 "
    "BRCA1-PALB2 PALB2-BRCA2 BRCA2-RAD51 RAD51-BRCA1 ATR-ATRIP ATM-MRE11 MRE11-RAD50 RAD50-NBN NBN-ATM MRE11-NBN",
    "Cell cycle": "CCND1-CDK4 CCND1-CDK6 CDK4-CDKN2A CDK6-CDKN2A CDK4-RB1 CDK6-RB1 RB1-E2F1 E2F1-CCNE1 CCNE1-CDK2 CCNA2-CDK2 "
    "CCNB1-CDK1 CDK1-WEE1 CDC25A-CDK2 CDC25C-CDK1 CDKN1A-CDK2 CDKN1A-CCND1 TP53-CDKN1A CDKN1B-CDK2 CCNA2-CDK1",
    "Apoptosis": "TP53-BAX TP53-BBC3 BAX-BCL2 BAK1-BCL2 BCL2-BBC3 BCL2L1-BAX BCL2L1-BAK1 BID-BAX CYCS-APAF1 APAF1-CASP9 "
    "CASP9-CASP3 CASP8-BID CASP8-CASP3 FAS-FADD FADD-CASP8 XIAP-CASP9 XIAP-CASP3 BAK1-BID",
    "MAPK": "EGFR-GRB2 GRB2-SOS1 SOS1-KRAS SOS1-HRAS KRAS-BRAF KRAS-RAF1 HRAS-RAF1 BRAF-MAP2K1 RAF1-MAP2K1 RAF1-MAP2K2 "
    "MAP2K1-MAPK1 MAP2K1-MAPK3 MAP2K2-MAPK1 MAPK1-MYC MAPK1-ELK1 MAPK3-ELK1 MYC-CCND1 EGFR-SHC1 SHC1-GRB2 NF1-KRAS",
    "Wnt": "WNT3A-FZD1 FZD1-DVL1 LRP6-WNT3A LRP6-AXIN1 DVL1-AXIN1 AXIN1-APC AXIN1-GSK3B APC-CTNNB1 GSK3B-CTNNB1 AXIN1-CTNNB1 "
    "CTNNB1-TCF7L2 CTNNB1-LEF1 TCF7L2-MYC CTNNB1-CDH1 CSNK1A1-CTNNB1 CSNK1A1-AXIN1 APC-GSK3B",
}
pairs = [tuple(pair.split("-")) for text in PATHWAYS.values() for pair in text.split()]
emb = softvec.embed(pairs, kind="pairs", n_components=16, walk_length=3, random_state=0)
emb

# %%
# What is near MDM2, the regulator of TP53? And what is similar to caspase 9?

for gene in ("MDM2", "CASP9"):
    print(gene, [f"{other} {cosine:.2f}" for other, cosine in emb.most_similar(gene, n=4)])

# %%
# The map. A gene has the colour of the first pathway that lists it.

import matplotlib.pyplot as plt

pathway = {}
for name, text in PATHWAYS.items():
    for gene in text.replace("-", " ").split():
        pathway.setdefault(gene, name)

figure, axis = plt.subplots(figsize=(9, 6.5))
emb.plot(pathway, method="tsne", perplexity=12, n_names=70, ax=axis, title="Genes of five pathways")
figure.tight_layout()
