import FoundationObjects

/// CBOR as human-readable text: the diagnostic notation of RFC 8949 §8, on one line.
///
/// Integers of any size, floating-point numbers with a fraction or an exponent, quoted text, bytes as `h'0102'`, `[1,
/// 2]`, `{"key": 1}`, tags as `1(0)`; `_` for an indefinite length. Escapes text as JSON does, and all characters that
/// would affect a terminal's display.
public struct CBORDiagnostic: Hashable, Sendable {
  /// The notation, up to the limit.
  public let text: String
  /// Whether the limit was reached. The text then ends with "…".
  public let isCut: Bool

  /// - Parameters:
  ///   - bytes: One well-formed item.
  ///   - limit: The most bytes of text, plus some for completing a number or an escape.
  /// - Throws: ``CBORCodingError`` for anything else.
  public init(_ bytes: RawSpan, limit: Int = 1 << 20) throws(CBORCodingError) {
    self = try bytes.withUnsafeBytes { bytes throws(CBORCodingError) in
      do throws(CBORError) { return try CBORDiagnostic(bytes, limit: limit) } catch { throw CBORCodingError(error) }
    }
  }

  init(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(CBORError) {
    // Print nothing unless the whole input is well-formed.
    var check = CBORReader(bytes)
    try check.skip()
    try check.finish()
    var printer = DiagnosticPrinter(bytes, limit: limit)
    try printer.print()
    let out = printer.out
    text = out.isCut ? out.text + "…" : out.text
    isCut = out.isCut
  }
}
