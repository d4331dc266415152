import Foundation

/// Where objects are retrieved from: at once, and by references that are resolved later.
struct ObjectSource {
  /// The garage. What came from it need not be retrieved to be parked in it again.
  let garage: AnyObject
  let delegate: () -> (any DataEncryptionDelegate)?
  /// Runs a body with what is stored now, and with the calling thread's form of dates.
  let read: ((GarageView, JSONDecoder.DateDecodingStrategy?) throws -> Void) throws -> Void

  /// The JSON of what is stored.
  func json(of record: StoredRecord, _ key: ObjectKey) throws -> JSONValue {
    guard !record.content.isEmpty else { throw GarageError.storageDataIsNil(key.label) }
    var bytes = record.content
    if record.isEncrypted {
      guard let delegate = delegate() else { throw GarageError.missingEncryptionDelegate(key.label) }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw GarageError.damaged(key.label, "its encrypted text is not UTF-8")
      }
      bytes = Array(try delegate.decrypt(text))
    }
    do throws(JSONParser.Failure) {
      return try JSONParser.value(of: bytes)
    } catch {
      throw GarageError.damaged(key.label, "\(error)", underlying: error)
    }
  }
}
