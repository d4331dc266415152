extension RetrievalSession {
  /// An anonymous object in the original's form, which is encrypted on its own if its owner is.
  func anonymous<T: Decodable>(
    _ type: T.Type, _ anonymous: (json: String, status: Int?), _ decoder: TreeDecoder
  ) throws -> T {
    var bytes = Array(anonymous.json.utf8)
    if bytes.first != UInt8(ascii: "{"), let delegate = garage.dataEncryptionDelegate {
      bytes = Array(try delegate.decrypt(anonymous.json))
    }
    let json: JSONValue
    do throws(JSONParser.Failure) {
      json = try JSONParser.value(of: bytes)
    } catch {
      throw decoder.corrupted("An anonymous object is no JSON: \(error)")
    }
    let value = try decode(type, from: json, at: decoder.codingPath)
    guard var syncable = value as? any Syncable, let status = anonymous.status.flatMap(SyncStatus.init(rawValue:))
    else {
      return value
    }
    syncable.syncStatus = status
    return (syncable as? T) ?? value
  }
}
