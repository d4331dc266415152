/// One way to show a value.
struct ValueView: Encodable {
  enum Kind: String, Encodable {
    /// Plain lines.
    case text
    case notation
    case hex
    /// Fetched from a separate address.
    case image
    /// A message instead of the value.
    case note
  }

  let kind: Kind
  let title: String
  /// Absent in JSON for an image.
  var text: String?
  /// The number of bytes shown, if not all.
  var shown: Int?
}
