// What blocks of documentation take for granted.

func show(_ value: Any) {}
