import FoundationObjects

/// CBOR as text for people: the diagnostic notation of RFC 8949 §8, on one line.
///
/// Integers of any size, floating-point numbers with a fraction or an exponent, text in quotes, bytes as `h'0102'`,
/// `[1, 2]`, `{"key": 1}`, tags as `1(0)`; `_` where a length is indefinite. Text is escaped as in JSON, and so is
/// what would change how a terminal shows the rest.
public struct CBORDiagnostic: Hashable, Sendable {
  /// The notation, up to the limit.
  public let text: String
  /// Whether the limit was reached; the text then ends with "…".
  public let isCut: Bool

  /// - Parameters:
  ///   - bytes: One well-formed item.
  ///   - limit: The most bytes of text, or some more for the end of a number or an escape.
  /// - Throws: ``CBORCodingError`` if `bytes` are something else.
  public init(_ bytes: RawSpan, limit: Int = 1 << 20) throws(CBORCodingError) {
    self = try bytes.withUnsafeBytes { bytes throws(CBORCodingError) in
      do throws(CBORError) { return try CBORDiagnostic(bytes, limit: limit) } catch { throw CBORCodingError(error) }
    }
  }

  init(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(CBORError) {
    // Nothing is printed of what is not well-formed as a whole.
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
