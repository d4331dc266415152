#if !canImport(Darwin)
  /// The value in an `Any` of known type `T`, without the cost of a dynamic cast.
  @inline(__always)
  func payload<T>(of value: Any, as type: T.Type) -> T {
    func read<Value>(_ value: Value) -> T {
      withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: T.self).pointee }
    }
    return _openExistential(value, do: read)
  }
#endif
