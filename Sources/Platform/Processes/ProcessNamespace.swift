/// The processes that this one can see.
///
/// LMDB identifies readers and mutex owners by process id. The same id can be two processes in two PID namespaces (two
/// containers, for example).
package enum ProcessNamespace {
  /// This process's PID namespace; 0 if unknown or if there is only one.
  package static let current: UInt64 = {
    #if os(Linux)
      var status = stat()
      // pid_namespaces(7): processes share a namespace if this is the same file.
      if stat("/proc/self/ns/pid", &status) == 0 { return UInt64(status.st_ino) }
    #endif
    return 0
  }()
}
