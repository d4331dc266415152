/// Encodes a value into a slot. All nested values pass through the session, which extracts identified objects.
///
/// Containers may be requested again and then add to the present ones. A request for another kind would lose data and
/// cannot throw, so the session records it and the parking fails.
final class TreeEncoder: Encoder {
  let session: ParkingSession
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ session: ParkingSession, _ slot: EncodingSlot, _ codingPath: [any CodingKey]) {
    self.session = session
    self.slot = slot
    self.codingPath = codingPath
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedTreeEncoding(encoder: opened("an object") { $0.becomeObject() }))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    UnkeyedTreeEncoding(encoder: opened("an array") { $0.becomeArray() })
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    SingleTreeEncoding(encoder: self)
  }

  func nested(_ slot: EncodingSlot, _ key: any CodingKey) -> TreeEncoder {
    TreeEncoder(session, slot, codingPath + [key])
  }

  /// This encoder, or one whose output is discarded if such a container is impossible here.
  private func opened(_ kind: String, _ become: (EncodingSlot) -> Bool) -> TreeEncoder {
    if slot.depth >= EncodingSlot.deepest {
      session.fail(.nestedTooDeeply(path: session.text(of: codingPath), limit: EncodingSlot.deepest))
    } else if become(slot) {
      return self
    } else {
      session.fail(conflict(kind))
    }
    let discarded = EncodingSlot()
    _ = become(discarded)
    return TreeEncoder(session, discarded, codingPath)
  }

  func conflict(_ kind: String) -> GarageError {
    .unencodable(
      session.text(of: []),
      EncodingError.invalidValue(
        kind, .init(codingPath: codingPath, debugDescription: "\(kind) is written where there is something already")))
  }
}
