/// Uses a result, so that the compiler cannot discard its computation.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: Value) {}
