extension Garage {
  /// Parks an object, with the identified objects it leads to, in one transaction.
  ///
  /// The object is stored under its type and identifier: that of an `Identifiable` object, or a digest of the content
  /// of a `Hashable` one. It replaces any object stored there. Nested values with an identifier are parked separately.
  /// Objects may form cycles. Among several instances with one type and identifier, the one passed here wins, otherwise
  /// the first one met.
  ///
  /// - Throws: ``GarageError/Code/missingConformance`` and ``GarageError/Code/unsupportedIDConformance`` for a type
  ///   that cannot be parked separately; ``GarageError/Code/cycle`` if an object without an identifier contains itself;
  ///   ``GarageError/Code/unencodable``; ``GarageError/Code/missingEncryptionDelegate``;
  ///   ``GarageError/Code/storageFailed``. Nothing was parked then.
  public func park<T: Encodable>(_ object: T) throws {
    let session = ParkingSession(self, dates: encodingOverride)
    try session.add(root: object)
    try park(session)
  }

  /// Parks objects in one transaction. The last one wins among those with the same identifier.
  ///
  /// - Throws: The errors of ``park(_:)``. Nothing was parked then.
  public func parkAll<T: Encodable>(_ objects: [T]) throws {
    let session = ParkingSession(self, dates: encodingOverride)
    for object in objects { try session.add(root: object) }
    try park(session)
  }
}

extension Garage {
  /// Retrieves the object of a type with an identifier, or `nil`.
  ///
  /// Plain properties retrieve their objects with it, from the same snapshot and each once: two properties that point
  /// to one object of a class hold one instance. A ``Reference`` retrieves its objects when first read. An optional
  /// that points to a deleted object is nil.
  ///
  /// Chains of plain properties may have tens of thousands of objects. Deep ones are created on other threads than the
  /// caller's, one at a time, so an `init(from:)` cannot rely on its thread. It must not change the garage.
  ///
  /// - Parameter identifier: A `String`, a `UUID`, or another `LosslessStringConvertible` value.
  /// - Throws: A `DecodingError` with a ``GarageError`` in its context for ``GarageError/Code/undecodable`` and
  ///   ``GarageError/Code/missingReference``; ``GarageError/Code/unsupportedIDConformance`` for a nil or another type
  ///   of identifier; ``GarageError/Code/cycle``, ``GarageError/Code/missingEncryptionDelegate``,
  ///   ``GarageError/Code/damaged``, ``GarageError/Code/storageFailed``. The stored data is kept.
  public func retrieve<T: Decodable, ID>(_ objectType: T.Type, identifier: ID) throws -> T? {
    let key = ObjectKey(TypeIdentity.of(objectType), try TypeIdentity.text(ofIdentifier: identifier))
    return try retrieving { try $0.root(objectType, key) }
  }

  /// Retrieves all objects of a type from one snapshot, ordered by the bytes of their identifiers.
  ///
  /// - Throws: The errors of ``retrieve(_:identifier:)``, if any object cannot be read.
  public func retrieveAll<T: Decodable>(_ objectType: T.Type) throws -> [T] { try retrieveAll(objectType, nil) }

  private func retrieveAll<T: Decodable>(_ type: T.Type, _ status: SyncStatus?) throws -> [T] {
    try retrieving { session in
      try session.view.records(ofType: TypeIdentity.of(type).name, status).map { try session.object(type, $0.0, $0.1) }
    }
  }
}

extension Garage {
  /// Deletes an object. Keeps the objects it points to and those that point to it.
  ///
  /// - Throws: ``GarageError/Code/failedToRetrieveObject`` if it is not parked; ``GarageError/Code/storageFailed``.
  public func delete<T: Encodable>(_ object: T) throws { try delete(ParkingSession.key(of: object)) }

  func delete(_ key: ObjectKey) throws {
    try change { view in
      try self.check(key, view)
      var changes = PendingChanges()
      changes.delete(key)
      return changes
    }
  }

  func check(_ key: ObjectKey, _ view: GarageView) throws {
    guard try view.record(key) != nil else {
      throw GarageError.failedToRetrieveObject(key.label)
    }
  }

  /// Deletes all objects of a type, but none they point to, in one transaction.
  public func deleteAll<T>(_ objectType: T.Type) throws {
    var changes = PendingChanges()
    changes.clear(type: TypeIdentity.of(objectType).name)
    try change(changes)
  }

  /// Deletes all objects, of all types, in one transaction.
  public func deleteAllObjects() throws {
    var changes = PendingChanges()
    changes.clearAll()
    try change(changes)
  }
}

extension Garage {
  /// The identifier an object is parked under: its own if it is `Identifiable`, otherwise a digest of its content, the
  /// SHA-256 of its JSON in hexadecimal, which is the same in every process. Throws as parking does.
  public func identifier(for object: some Encodable) throws -> String { try ParkingSession.key(of: object).identifier }
}

extension Garage {
  /// Sets the sync status of a parked object without changing its stored content or the object's own property.
  ///
  /// - Throws: ``GarageError/Code/failedToRetrieveObject`` if it is not parked; ``GarageError/Code/storageFailed``.
  public func setSyncStatus<T: Encodable & Syncable>(_ syncStatus: SyncStatus, for object: T) throws {
    try setSyncStatus(syncStatus, for: [object])
  }

  /// Sets the sync status of parked objects, in one transaction.
  ///
  /// - Throws: As for one object, if any is not parked. No status is set then.
  public func setSyncStatus<T: Encodable & Syncable>(_ syncStatus: SyncStatus, for objects: [T]) throws {
    try setSyncStatus(syncStatus, keys: try objects.map { try ParkingSession.key(of: $0) })
  }

  func setSyncStatus(_ syncStatus: SyncStatus, keys: [ObjectKey]) throws {
    try change { view in
      var changes = PendingChanges()
      for key in keys {
        try self.check(key, view)
        changes.setStatus(syncStatus, key)
      }
      return changes
    }
  }

  /// The stored sync status of an object.
  ///
  /// - Throws: ``GarageError/Code/failedToRetrieveObject`` if it is not parked; ``GarageError/Code/storageFailed``.
  public func syncStatus<T: Encodable & Syncable>(for object: T) throws -> SyncStatus {
    try syncStatus(ParkingSession.key(of: object))
  }

  func syncStatus(_ key: ObjectKey) throws -> SyncStatus {
    try read { view in
      guard let record = try view.record(key) else {
        throw GarageError.failedToRetrieveObject(key.label)
      }
      return record.status
    }
  }

  /// Retrieves the objects of a type that have a sync status. Reads only these and the objects they point to.
  ///
  /// - Throws: The errors of ``retrieve(_:identifier:)``, if any object cannot be read.
  public func retrieveAll<T: Decodable & Syncable>(withStatus syncStatus: SyncStatus) throws -> [T] {
    try retrieveAll(T.self, withStatus: syncStatus)
  }

  /// Retrieves the objects of the given type that have a sync status.
  public func retrieveAll<T: Decodable & Syncable>(
    _ objectType: T.Type, withStatus syncStatus: SyncStatus
  ) throws -> [T] {
    try retrieveAll(objectType, syncStatus)
  }
}
