"""What holds where one feature meets another: seven operations times eleven features."""
