/// A type that is parked separately: it encodes itself and has an identifier.
///
/// A shorthand for `Codable & Identifiable`; a type that conforms to both is treated the same, and its identifier may
/// also be a `UUID`. Nested values of such a type are parked separately, and their owner points to them.
public protocol Mappable: Codable, Identifiable where ID: LosslessStringConvertible {}
