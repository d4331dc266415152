/// Encodes a value into a slot. Every value in it passes the session, which takes identified objects out.
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
    slot.becomeObject()
    return KeyedEncodingContainer(KeyedTreeEncoding(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    slot.becomeArray()
    return UnkeyedTreeEncoding(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    SingleTreeEncoding(encoder: self)
  }

  /// The encoder for what is at a key of this value.
  func nested(_ slot: EncodingSlot, _ key: any CodingKey) -> TreeEncoder {
    TreeEncoder(session, slot, codingPath + [key])
  }
}
