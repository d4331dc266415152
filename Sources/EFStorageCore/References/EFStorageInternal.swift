#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What containers that were written for EFStorage tell of their references, in a debug build of this package: a line on the
/// standard error. Nothing in a release build.
public func _efStorageLog(_ s: String) {
  #if DEBUG
    let line = Array("EFStorage \(s)\n".utf8)
    // There is nobody to tell that the standard error cannot be written.
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  #endif
}

/// What EFStorage lets be set of the table of all references.
public enum _EFStorageInternal {
  /// From how many entries on the table is searched for those whose references are gone. An entry is a type and a key. 64
  /// if nothing else is set; more than half of the entries may be live, and then it is twice as many as these.
  public static var threshold: UInt {
    get { UInt(ReferenceRegistry.shared.leastSweepLimit) }
    set { ReferenceRegistry.shared.leastSweepLimit = Int(clamping: newValue) }
  }
}
