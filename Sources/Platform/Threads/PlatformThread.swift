package enum PlatformThread {
  /// Identifies the calling thread during its lifetime.
  @inlinable @inline(__always)
  package static var current: UInt {
    #if canImport(Glibc)
      pthread_self()
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }
}
