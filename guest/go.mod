module holdfast/guest

go 1.24
