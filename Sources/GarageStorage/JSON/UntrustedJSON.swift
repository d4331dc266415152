import Platform

/// The reader of stored JSON by itself, for fuzzers. It is not part of the supported interface.
@_spi(Fuzzing)
public enum UntrustedJSON {
  /// What was read, written again. Returns `nil` if it is not JSON.
  public static func rewritten(_ bytes: [UInt8]) -> [UInt8]? {
    guard let value = try? JSONParser.value(of: bytes) else { return nil }
    return JSONWriter.bytes(of: value)
  }
}
