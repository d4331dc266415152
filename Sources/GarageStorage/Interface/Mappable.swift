/// Something that can be parked on its own: it encodes itself, and has an identifier.
///
/// A shorthand for `Codable & Identifiable`; a type that conforms to these two is treated in the same way, and its
/// identifier may then also be a `UUID`. A nested value of such a type is parked on its own, and the value that
/// contains it points to it.
public protocol Mappable: Codable, Identifiable where ID: LosslessStringConvertible {}
