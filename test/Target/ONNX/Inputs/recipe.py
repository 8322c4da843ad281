import random_recipe

for recipe in (("normal", 0.5, 2.0), ("uniform", 0.5, 1.5)):
    print(*("%.9g" % value for value in random_recipe.values(7, "conv1/w", 5, *recipe)))
