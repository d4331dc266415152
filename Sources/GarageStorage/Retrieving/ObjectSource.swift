import Foundation
import Platform

/// The source of objects, for direct retrieval and for references resolved later.
struct ObjectSource {
  /// The garage. Its own objects can be parked again without retrieving them.
  let garage: AnyObject
  let delegate: () -> (any DataEncryptionDelegate)?
  /// Runs a body with the current data and the calling thread's date decoding.
  let read: ((GarageView, JSONDecoder.DateDecodingStrategy?) throws -> Void) throws -> Void

  /// A record's decrypted JSON.
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
