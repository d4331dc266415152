/// Separate entry points to the CBOR readers, for fuzzing.
///
/// Not part of the supported interface. Each accepts any bytes and ends in linear time and memory, with an error or a
/// result.
@_spi(Fuzzing)
public enum UntrustedCBOR {
  /// Returns whether bytes are well-formed to each reader.
  ///
  /// The reader skips them. The scanner indexes them and stops at duplicate keys, which is `nil` here. The diagnostic
  /// notation prints them.
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
