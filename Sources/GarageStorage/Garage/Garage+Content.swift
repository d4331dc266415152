import Foundation
import Platform

extension Garage {
  /// The stored form of JSON: the text, or the delegate's encryption of it.
  func content(of json: JSONValue) throws -> (bytes: [UInt8], isEncrypted: Bool) {
    let bytes = JSONWriter.bytes(of: json)
    guard let delegate = dataEncryptionDelegate else { return (bytes, false) }
    return (Array(try delegate.encrypt(Data(bytes)).utf8), true)
  }

  /// The source of this garage's objects. It retains the garage.
  var source: ObjectSource {
    ObjectSource(garage: self, delegate: { self.dataEncryptionDelegate }) { body in
      let dates = self.decodingOverride
      try self.read { try body($0, dates) }
    }
  }

  /// Runs `body` with a retrieval from a single snapshot.
  func retrieving<R>(_ body: (RetrievalSession) throws -> R) throws -> R {
    let dates = decodingOverride
    return try read { view in try body(RetrievalSession(source, view, dates: dates)) }
  }

  func changes(parking objects: [ParkingSession.Parked]) throws -> PendingChanges {
    var changes = PendingChanges()
    for object in objects {
      let content = try content(of: object.json)
      changes.park(object.key, content.bytes, isEncrypted: content.isEncrypted, object.status)
    }
    return changes
  }

  func park(_ session: ParkingSession) throws {
    let changes = try changes(parking: try session.finish())
    guard dataEncryptionDelegate == nil else { return try change(changes) }
    try change { view in
      guard try !view.isEncrypted() else { throw GarageError.missingEncryptionDelegate("The garage") }
      return changes
    }
  }
}
