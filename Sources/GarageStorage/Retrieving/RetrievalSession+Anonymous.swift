import Platform

extension RetrievalSession {
  /// An anonymous object in the original's form, encrypted separately if its owner is.
  func anonymous<T: Decodable>(
    _ type: T.Type, _ anonymous: (json: String, status: SyncStatus?), _ decoder: TreeDecoder
  ) throws -> T {
    var bytes = Array(anonymous.json.utf8)
    if bytes.first != UInt8(ascii: "{"), let delegate = source.delegate() {
      bytes = Array(try delegate.decrypt(anonymous.json))
    }
    let json: JSONValue
    do throws(JSONParser.Failure) {
      json = try JSONParser.value(of: bytes)
    } catch {
      throw decoder.corrupted("An anonymous object is not JSON: \(error)")
    }
    let value = try decode(type, from: json, at: decoder.codingPath)
    return anonymous.status.flatMap { Self.with($0, value) } ?? value
  }
}
