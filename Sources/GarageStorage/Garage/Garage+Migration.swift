extension Garage {
  /// Makes all objects of one class objects of another type. See ``migrateAll(fromOldClassName:to:)``.
  public func migrateAll<T: Codable>(from oldClass: AnyClass, to newType: T.Type) throws {
    try migrate([TypeIdentity.of(oldClass).name], to: newType)
  }

  /// Makes all objects that were parked as another type objects of `newType`, in one transaction.
  ///
  /// Each is read as the new type from what the old one has stored, and stored as the new type does. Identifiers and sync
  /// statuses are kept, and whatever points to one of them points to it under the new type: objects of all types are looked
  /// through for that. So the old type may be parked, and migrated, again. If there is none, nothing happens.
  ///
  /// Objects that were found by their content, of a type without an identifier, are found by their content as the new
  /// type has it, if that is such a type too.
  ///
  /// What was stored inside an object of the old type, and has an identifier of its own now, is parked on its own. If
  /// that is taken, the object which is parked already counts, or else the first of those that were stored inside.
  ///
  /// - Parameter oldClassName: The old type's name, with its module or without: "App.OldPerson" or "OldPerson".
  /// - Throws: ``GarageError/Code/migrationConflict`` if several types have that name, if an identifier is taken by an
  ///   object of the new type, or if two objects would be one by their content; ``GarageError/Code/undecodable`` and what
  ///   else retrieving and parking throw. Nothing was changed then.
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
      let encoding = encodingOverride
      try change { _ in
        try retrieving { session in
          let contentKeys = try self.contentKeys(of: keys, newType, session)
          let taken = Set(contentKeys.values)
          var changes = PendingChanges()
          for key in keys {
            guard let object = try session.root(newType, key) else { continue }
            // What it points to is parked already, unless it was stored in place and has an identifier now.
            let parking = ParkingSession(self, dates: encoding) { other in
              try changes.objects[other] != nil || session.isThere(other)
            }
            let new = contentKeys[key] ?? key
            parking.add(root: object, key: new)
            let parked = try self.changes(parking: try parking.finish())
            changes.merge(parked)
            guard new != key else { continue }
            if let status = try session.record(key)?.status { changes.setStatus(status, new) }
            // Another object may have come to be under it.
            if !taken.contains(key) { changes.delete(key) }
          }
          return changes
        }
      }
    }
  }

  /// The keys of objects that are found by their content, as it is now. Empty if the new type has an identifier.
  private func contentKeys<T: Codable>(
    of keys: [ObjectKey], _ type: T.Type, _ session: RetrievalSession
  ) throws -> [ObjectKey: ObjectKey] {
    let identity = TypeIdentity.of(type)
    guard !identity.isIdentifiable, type is any Hashable.Type else { return [:] }
    let vacated = Set(keys)
    var contentKeys: [ObjectKey: ObjectKey] = [:]
    var taken: Set<ObjectKey> = []
    for key in keys {
      guard let object = try session.root(type, key) else { continue }
      // An identifier of the old type's own may be what others point to.
      let new = ContentDigest.isText(key.identifier) ? try ParkingSession.key(of: object) : key
      let isThere = vacated.contains(new) ? false : try session.isThere(new)
      guard taken.insert(new).inserted, !isThere else {
        throw GarageError.migrationConflict(
          "Two objects have the same content as \(identity.shortName). Delete one of them, and migrate again.")
      }
      contentKeys[key] = new
    }
    return contentKeys
  }

  /// Moves the objects to the new type, with what they have stored, and turns all references to them.
  private func rename(_ old: String, to identity: TypeIdentity) throws -> [ObjectKey] {
    var keys: [ObjectKey] = []
    try change { view in
      let moved = Set(try view.records(ofType: old).map(\.0.identifier))
      var changes = PendingChanges()
      for type in try view.types().sorted() {
        for (key, record) in try view.records(ofType: type) {
          var new = key
          if type == old {
            new = ObjectKey(identity, key.identifier)
            guard try view.record(new) == nil else {
              throw GarageError.migrationConflict(
                "There is a \(new.label) already. Delete it, or the one of the old type, and migrate again.")
            }
            changes.delete(key)
            keys.append(new)
          }
          if let content = try self.renamed(record, key, old, identity.name, moved) {
            changes.park(new, content.bytes, isEncrypted: content.isEncrypted, record.status)
          } else if new != key {
            changes.park(new, record.content, isEncrypted: record.isEncrypted, record.status)
          }
        }
      }
      return keys.isEmpty ? PendingChanges() : changes
    }
    return keys
  }

  /// What is stored of an object once its references are turned. Returns `nil` if it has none to turn.
  private func renamed(
    _ record: StoredRecord, _ key: ObjectKey, _ old: String, _ new: String, _ moved: Set<String>
  ) throws -> (bytes: [UInt8], isEncrypted: Bool)? {
    // The name is looked for before anything is parsed: most objects point to others.
    guard record.isEncrypted || record.content.contains(JSONWriter.bytes(of: .string(old))) else { return nil }
    let json = try source.json(of: record, key)
    let renamed = json.renaming(old, to: new, moved)
    return renamed == json ? nil : try content(of: renamed)
  }
}
