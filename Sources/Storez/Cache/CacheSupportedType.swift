/// What a value of a ``CacheConvertible`` type is kept as: any object.
public typealias CacheSupportedType = AnyObject
