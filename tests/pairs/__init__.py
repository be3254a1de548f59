"""What holds where one feature meets another: seven operations times sixteen features."""
