extension FaultInjection {
  /// The name of a C function that can be made to fail. Other modules add theirs.
  package struct Call: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let openat = Call(rawValue: "openat")
    package static let mkdirat = Call(rawValue: "mkdirat")
    package static let unlinkat = Call(rawValue: "unlinkat")
    package static let renameat = Call(rawValue: "renameat")
    package static let fstat = Call(rawValue: "fstat")
    package static let fstatat = Call(rawValue: "fstatat")
    package static let pread = Call(rawValue: "pread")
    package static let pwrite = Call(rawValue: "pwrite")
    package static let write = Call(rawValue: "write")
    package static let ftruncate = Call(rawValue: "ftruncate")
    package static let fallocate = Call(rawValue: "fallocate")
    package static let punchHole = Call(rawValue: "fallocate(FALLOC_FL_PUNCH_HOLE)")
    package static let fsync = Call(rawValue: "fsync")
    package static let syncfs = Call(rawValue: "syncfs")
    package static let flock = Call(rawValue: "flock")
    package static let mmap = Call(rawValue: "mmap")
    package static let pthreadCreate = Call(rawValue: "pthread_create")
  }
}
