import Foundation

/// One object that a property points to, or what it takes to retrieve it.
// @unchecked: the variables are touched with `lock` held only. The object is shared as the user shares it.
final class ReferenceBox<Object: Codable & Identifiable>: @unchecked Sendable {
  /// Where the object comes from.
  private struct Source {
    let garage: Garage
    let type: String
    let identifier: String
    let identities: IdentityMap
  }

  private let lock = NSLock()
  private let source: Source?
  private var object: Object?
  private var lastFailure: (any Error)?

  init(_ object: Object) {
    source = nil
    self.object = object
  }

  init(_ reference: (type: String, identifier: String), _ session: RetrievalSession) {
    source = Source(
      garage: session.garage, type: reference.type, identifier: reference.identifier, identities: session.identities)
  }

  var loaded: Object? { lock.withLock { object } }
  var failure: (any Error)? { lock.withLock { lastFailure } }

  var identifier: String? { source?.identifier ?? loaded.flatMap { TypeIdentity.identifier(of: $0) } }

  /// What two references to one object have in common.
  var target: [String] {
    let type = source?.type ?? TypeIdentity.of(Object.self).name
    return [type, identifier ?? ""]
  }

  func resolve() throws -> Object {
    if let object = loaded { return object }
    guard let source else { throw GarageError.failedToRetrieveObject(TypeIdentity.of(Object.self).shortName, "") }
    do {
      let dates = source.garage.decodingOverride
      let found = try source.garage.read { view in
        let session = RetrievalSession(source.garage, view, dates: dates, identities: source.identities)
        return try session.resolve(Object.self, (source.type, source.identifier))
      }
      return lock.withLock {
        lastFailure = nil
        // Another thread may have been faster: its object counts.
        let object = object ?? found
        self.object = object
        return object
      }
    } catch {
      lock.withLock { lastFailure = error }
      throw error
    }
  }

  /// Whether the object is not there, rather than out of reach for now.
  var isMissing: Bool {
    if case GarageError.failedToRetrieveObject? = failure { true } else { false }
  }

  func unload() {
    lock.withLock { if source != nil { object = nil } }
  }

  /// The JSON that stands for the object. One that was never read is not retrieved for it.
  func json(for session: ParkingSession) throws -> JSONValue {
    if loaded == nil, let source, source.garage === session.garage {
      return .reference(to: ObjectKey(type: source.type, identifier: source.identifier))
    }
    let slot = EncodingSlot()
    try session.encode(try resolve(), into: slot, at: [])
    return slot.json
  }
}
