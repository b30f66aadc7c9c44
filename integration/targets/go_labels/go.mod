module example.com/allframes/labels

go 1.16
