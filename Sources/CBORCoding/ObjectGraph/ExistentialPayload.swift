#if !canImport(Darwin)
  /// The value in an `Any` whose type was found to be `T`, without the search that a dynamic cast is.
  @inline(__always)
  func payload<T>(of value: Any, as type: T.Type) -> T {
    func read<Value>(_ value: Value) -> T {
      withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: T.self).pointee }
    }
    return _openExistential(value, do: read)
  }
#endif
