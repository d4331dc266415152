/// Takes what a subject gave, so that the compiler cannot know that nobody looks at it.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: Value) {}
