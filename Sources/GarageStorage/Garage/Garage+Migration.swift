import Foundation

extension Garage {
  /// Makes all objects of one class objects of another type. See ``migrateAll(fromOldClassName:to:)``.
  public func migrateAll<T: Codable>(from oldClass: AnyClass, to newType: T.Type) throws {
    try migrate([TypeIdentity.of(oldClass).name], to: newType)
  }

  /// Makes all objects that were parked as another type objects of `newType`, in one transaction.
  ///
  /// Each is read as the new type from what the old one has stored, and stored as the new type does. Identifiers and sync
  /// statuses are kept, and objects that point to one of them find it under the new type. If there is none, nothing
  /// happens.
  ///
  /// - Parameter oldClassName: The old type's name, with its module or without: "App.OldPerson" or "OldPerson".
  /// - Throws: ``GarageError/migrationConflict(_:)`` if several types have that name, or if an identifier is taken by an
  ///   object of the new type; ``GarageError/undecodable(_:_:_:)`` and what else retrieving and parking throw. Nothing
  ///   was changed then.
  public func migrateAll<T: Codable>(fromOldClassName oldClassName: String, to newType: T.Type) throws {
    let names = try read { view in
      let types = try view.types()
      return types.contains(oldClassName)
        ? [oldClassName] : types.filter { ObjectKey.shortName(ofType: $0) == oldClassName }.sorted()
    }
    guard names.count < 2 else {
      throw GarageError.migrationConflict(
        "Several types are called \(oldClassName): \(names.joined(separator: ", ")). Name one of them with its module.")
    }
    try migrate(names.filter { $0 != TypeIdentity.of(newType).name }, to: newType)
  }

  private func migrate<T: Codable>(_ names: [String], to newType: T.Type) throws {
    guard let old = names.first else { return }
    let identity = TypeIdentity.of(newType)
    try batch {
      let keys = try rename(old, to: identity)
      let (encoding, decoding) = (encodingOverride, decodingOverride)
      try change { view in
        let session = RetrievalSession(self, view, dates: decoding)
        var changes = PendingChanges()
        for key in keys {
          guard let object = try session.root(newType, key) else { continue }
          let parking = ParkingSession(self, dates: encoding, followsReferences: false)
          parking.add(root: object, key: key)
          changes.merge(try self.changes(parking: try parking.finish()))
        }
        return changes
      }
    }
  }

  /// Moves the records as they are, so that objects which point to each other find each other when they are read.
  private func rename(_ old: String, to identity: TypeIdentity) throws -> [ObjectKey] {
    var keys: [ObjectKey] = []
    try change { view in
      var changes = PendingChanges()
      for (key, record) in try view.records(ofType: old) {
        let new = ObjectKey(identity, key.identifier)
        guard try view.record(new) == nil else {
          throw GarageError.migrationConflict(
            "There is a \(new.label) already. Delete it, or the one of the old type, and migrate again.")
        }
        changes.delete(key)
        changes.park(new, record.content, isEncrypted: record.isEncrypted, record.status)
        keys.append(new)
      }
      guard !keys.isEmpty else { return changes }
      changes.rename(old, to: identity.name)
      return changes
    }
    return keys
  }
}
