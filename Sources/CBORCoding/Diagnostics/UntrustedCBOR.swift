/// The readers of CBOR, each by itself, for those who try them with bytes that were made up.
///
/// No part of the supported interface. Every one of them takes any bytes, and ends in time and memory that are
/// proportional to their number: with an error, or with what was read.
@_spi(Fuzzing)
public enum UntrustedCBOR {
  /// Returns whether bytes are well-formed as each reader sees them.
  ///
  /// The reader passes over them. The scanner makes an index of them and ends at equal keys, which is `nil` here. The
  /// diagnostic notation prints them.
  public static func isWellFormed(_ bytes: UnsafeRawBufferPointer) -> (reader: Bool, scan: Bool?, diagnostic: Bool) {
    let depth = 512
    var isRead = false
    var isScanned: Bool? = false
    var isPrinted = false
    do throws(CBORError) {
      var reader = CBORReader(bytes, maximumDepth: depth)
      try reader.skip()
      try reader.finish()
      isRead = true
    } catch {}
    do throws(CBORError) {
      var tape = CBORTape()
      _ = try CBORScanner.scan(bytes, maximumDepth: depth, into: &tape)
      isScanned = true
    } catch { if error.code == .duplicateKey { isScanned = nil } }
    do throws(CBORError) {
      _ = try CBORDiagnostic(bytes, limit: 4096)
      isPrinted = true
    } catch {}
    return (isRead, isScanned, isPrinted)
  }
}
