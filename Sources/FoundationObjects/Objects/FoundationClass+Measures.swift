#if !canImport(Darwin)
  import Foundation

  extension FoundationClass {
    static let measures: [FoundationClass] =
      [
        FoundationClass(NSMeasurement.self) { fields in
          let value = fields.number(FieldKey("value", "NS.value"))
          return fields.object(Unit.self, FieldKey("unit", "NS.unit")).map {
            NSMeasurement(doubleValue: value, unit: $0)
          }
        },
        FoundationClass(Unit.self) { fields in fields.string(FieldKey("symbol", "NS.symbol")).map { Unit(symbol: $0) }
        },
        FoundationClass(UnitConverterLinear.self) { fields in
          let coefficient = FieldKey("coefficient", "NS.coefficient")
          guard fields.contains(coefficient) else { return nil }
          return UnitConverterLinear(
            coefficient: fields.number(coefficient), constant: fields.number(FieldKey("constant", "NS.constant")))
        },
      ] + DimensionClass.all.map { dimension($0) }

    private static func dimension(_ dimension: DimensionClass) -> FoundationClass {
      FoundationClass(dimension.type) { fields in
        guard let symbol = fields.string(FieldKey("symbol", "NS.symbol")) else { return nil }
        let converter = FieldKey("converter", "NS.converter")
        guard fields.contains(converter) else { return dimension.known.first { $0.symbol == symbol } }
        return fields.object(UnitConverterLinear.self, converter).map {
          dimension.type.init(symbol: symbol, converter: $0)
        }
      }
    }
  }
#endif
