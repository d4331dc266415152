/// One way to show a value.
struct ValueView: Encodable {
  enum Kind: String, Encodable {
    /// Lines as they are.
    case text
    /// Elements, indented.
    case notation
    case hex
    /// To be asked for by its own address.
    case image
    /// Something that is to be said instead.
    case note
  }

  let kind: Kind
  let title: String
  /// Absent in JSON: an image has none.
  var text: String?
  /// Of how many bytes the text is, where it is not of all.
  var shown: Int?
}
