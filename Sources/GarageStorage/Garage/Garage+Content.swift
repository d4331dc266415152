import Foundation

extension Garage {
  /// What is stored of JSON: the text, or what the delegate makes of it.
  func content(of json: JSONValue) throws -> (bytes: [UInt8], isEncrypted: Bool) {
    let bytes = JSONWriter.bytes(of: json)
    guard let delegate = dataEncryptionDelegate else { return (bytes, false) }
    return (Array(try delegate.encrypt(Data(bytes)).utf8), true)
  }

  /// The JSON of what is stored.
  func json(of record: StoredRecord, _ key: ObjectKey) throws -> JSONValue {
    let type = ObjectKey.shortName(ofType: key.type)
    guard !record.content.isEmpty else { throw GarageError.storageDataIsNil(type) }
    var bytes = record.content
    if record.isEncrypted {
      guard let delegate = dataEncryptionDelegate else { throw GarageError.missingEncryptionDelegate(key.label) }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw GarageError.damaged(type, key.identifier, "its encrypted text is not UTF-8")
      }
      bytes = Array(try delegate.decrypt(text))
    }
    do throws(JSONParser.Failure) {
      return try JSONParser.value(of: bytes)
    } catch {
      throw GarageError.damaged(type, key.identifier, "\(error)")
    }
  }

  /// The changes that park what a session has encoded.
  func changes(parking objects: [ParkingSession.Parked]) throws -> PendingChanges {
    var changes = PendingChanges()
    for object in objects {
      let content = try content(of: object.json)
      changes.park(object.key, content.bytes, isEncrypted: content.isEncrypted, object.status)
    }
    return changes
  }

  /// Parks what a session has encoded, in one transaction.
  func park(_ session: ParkingSession) throws {
    let changes = try changes(parking: try session.finish())
    guard dataEncryptionDelegate == nil else { return try change(changes) }
    try change { view in
      guard try !view.isEncrypted() else { throw GarageError.missingEncryptionDelegate("The garage") }
      return changes
    }
  }
}
