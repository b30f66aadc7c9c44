module example.com/allframes/names

go 1.18
