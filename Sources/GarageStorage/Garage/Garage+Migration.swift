import Platform

extension Garage {
  /// Migrates all objects of one class to another type. See ``migrateAll(fromOldClassName:to:)``.
  public func migrateAll<T: Codable>(from oldClass: AnyClass, to newType: T.Type) throws {
    try migrate([TypeIdentity.of(oldClass).name], to: newType)
  }

  /// Migrates all objects parked as another type to `newType`, in one transaction.
  ///
  /// Keeps identifiers and sync statuses, and updates references in objects of all types. Objects of a type without an
  /// identifier get a new content identifier if the new type has none either. Values inside the old objects that have
  /// an identifier now are parked separately; if it is taken, the object already parked wins.
  ///
  /// - Parameter oldClassName: The old type's name, with or without its module: "App.OldPerson" or "OldPerson".
  /// - Throws: ``GarageError/Code/migrationConflict`` if several types have that name, an identifier is taken by an
  ///   object of the new type, or two objects would get the same content identifier; errors of retrieving and parking.
  ///   Nothing was changed then.
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
    try withAutosaveDisabled {
      let keys = try rename(old, to: identity)
      let encoding = encodingOverride
      try change { _ in
        try retrieving { session in
          let contentKeys = try self.contentKeys(of: keys, newType, session)
          let taken = Set(contentKeys.values)
          var changes = PendingChanges()
          for key in keys {
            guard let object = try session.root(newType, key) else { continue }
            // Objects it points to are already parked, except values stored in place that have an identifier now.
            let parking = ParkingSession(self, dates: encoding) { other in
              try changes.objects[other] != nil || session.isThere(other)
            }
            let new = contentKeys[key] ?? key
            parking.add(root: object, key: new)
            let parked = try self.changes(parking: try parking.finish())
            changes.merge(parked)
            guard new != key else { continue }
            if let status = try session.record(key)?.status { changes.setStatus(status, new) }
            // Another object may have taken its key.
            if !taken.contains(key) { changes.delete(key) }
          }
          return changes
        }
      }
    }
  }

  /// The objects' keys by current content. Empty if the new type has an identifier.
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
      // Others may refer to an identifier of the old type.
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

  /// Moves the stored objects to the new type and updates all references to them.
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

  /// An object's stored data with updated references; `nil` if it has none to update.
  private func renamed(
    _ record: StoredRecord, _ key: ObjectKey, _ old: String, _ new: String, _ moved: Set<String>
  ) throws -> (bytes: [UInt8], isEncrypted: Bool)? {
    // Search for the name before parsing: most references are to other types.
    guard record.isEncrypted || record.content.contains(JSONWriter.bytes(of: .string(old))) else { return nil }
    let json = try source.json(of: record, key)
    let renamed = json.renaming(old, to: new, moved)
    return renamed == json ? nil : try content(of: renamed)
  }
}
