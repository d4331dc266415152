/// Which processes this one can see.
///
/// LMDB tells readers and the owners of its mutexes apart by their process ids. In two PID namespaces, of two
/// containers, say, one id is two processes.
package enum ProcessNamespace {
  /// Identifies the PID namespace of this process; 0 where that cannot be known, or where there is only one.
  package static let current: UInt64 = {
    #if os(Linux)
      var status = stat()
      // pid_namespaces(7): two processes are in one namespace if these are one file.
      if stat("/proc/self/ns/pid", &status) == 0 { return UInt64(status.st_ino) }
    #endif
    return 0
  }()
}
