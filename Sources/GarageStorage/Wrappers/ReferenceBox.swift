import Foundation

/// One object that a property points to, or what it takes to retrieve it.
// @unchecked: the variables are touched with `lock` held only. The object is shared as the user shares it.
final class ReferenceBox<Object: Codable & Identifiable>: @unchecked Sendable {
  /// Where the object comes from.
  private struct Origin {
    let source: ObjectSource
    let reference: ObjectReference
    let identities: IdentityMap
  }

  private let lock = NSLock()
  private let origin: Origin?
  private var object: Object?
  private var lastFailure: (any Error)?

  init(_ object: Object) {
    origin = nil
    self.object = object
  }

  init(_ reference: ObjectReference, _ session: RetrievalSession) {
    origin = Origin(source: session.source, reference: reference, identities: session.identities)
  }

  var loaded: Object? { lock.withLock { object } }
  var failure: (any Error)? { lock.withLock { lastFailure } }

  var identifier: String? { origin?.reference.identifier ?? loaded.flatMap { TypeIdentity.identifier(of: $0) } }

  /// What two references to one object have in common.
  var target: [String] {
    let type = origin?.reference.type ?? TypeIdentity.of(Object.self).name
    return [type, identifier ?? ""]
  }

  func resolve() throws -> Object {
    if let object = loaded { return object }
    guard let origin else { throw GarageError.failedToRetrieveObject(TypeIdentity.of(Object.self).shortName, "") }
    do {
      var found: Object?
      try origin.source.read { view, dates in
        let session = RetrievalSession(origin.source, view, dates: dates, identities: origin.identities)
        found = try session.resolve(Object.self, origin.reference)
      }
      guard let found else { preconditionFailure("The garage read nothing, and said nothing.") }
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
  var isMissing: Bool { (failure as? GarageError)?.code == .failedToRetrieveObject }

  func unload() {
    lock.withLock { if origin != nil { object = nil } }
  }

  /// Puts what stands for the object into a slot. One that was never read is not retrieved for it.
  func encode(into slot: EncodingSlot, _ session: ParkingSession, at path: [any CodingKey]) throws {
    // A session without a garage makes an identifier, which is the same whether the object was read or not.
    if loaded == nil, let origin, session.garage == nil || origin.source.garage === session.garage {
      return slot.set(.reference(to: ObjectKey(origin.reference)))
    }
    try session.encode(try resolve(), into: slot, at: path)
  }
}
