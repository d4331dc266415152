#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes a debugging line to the standard error in debug builds of this package. For containers written for EFStorage.
public func _efStorageLog(_ s: String) {
  #if DEBUG
    let line = Array("EFStorage \(s)\n".utf8)
    // A failing standard error cannot be reported.
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  #endif
}

/// Settings of the table of all references.
public enum _EFStorageInternal {
  /// The number of entries, each a type and a key, at which the table is swept for dead references. 64 by default;
  /// twice the live entries if that is more.
  public static var threshold: UInt {
    get { UInt(ReferenceRegistry.shared.leastSweepLimit) }
    set { ReferenceRegistry.shared.leastSweepLimit = Int(clamping: newValue) }
  }
}
