/// Threads of the system's.
package enum PlatformThread {
  /// Identifies the calling thread as long as it lives.
  @inlinable @inline(__always)
  package static var current: UInt {
    #if canImport(Glibc)
      pthread_self()
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }
}
